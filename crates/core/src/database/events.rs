//! `mcpkg events`: shows the trail, which records every change.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use crate::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Result};
use mcpkg_store::events::{self, Event};

/// Show the audit trail
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Events {
    /// Maximum number of events to show; without --after, mcpkg shows the newest events
    #[arg(short = 'n', long, default_value_t = default_limit())]
    #[serde(default = "default_limit")]
    limit: u32,
    /// Show only events after this sequence number
    #[arg(long, value_name = "SEQ")]
    after: Option<i64>,
    /// Keep printing new events as they happen
    #[arg(short, long)]
    #[serde(default)]
    follow: bool,
}

fn default_limit() -> u32 {
    50
}

impl Operation for Events {
    const TOOL: &'static str = "list_events";
    const CLI: &'static [&'static str] = &["events"];
    const TITLE: &'static str = "Show the audit trail";
    const ABOUT: &'static str = "Show the audit trail: who changed what and when, including refused changes but not \
        the content itself";
    const EXAMPLES: &'static [&'static str] = &["mcpkg events", "mcpkg events --follow --json"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("events");
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let limit = self.limit as usize;
        let (mut events, mut newest) = context.store.read(|db| {
            let events = match self.after {
                Some(seq) => events::after(db, seq, limit)?,
                None => events::last(db, limit)?,
            };
            Ok((events, if self.follow { events::newest(db)? } else { 0 }))
        })?;
        if !self.follow {
            return Ok(reply(&events));
        }
        newest = self.after.unwrap_or(newest);
        while !context.is_cancelled() {
            if let Some(last) = events.last() {
                newest = last.seq;
                (context.emit)(reply(&events))?;
            }
            std::thread::sleep(POLL);
            events = match context.store.read(|db| events::after(db, newest, BATCH)) {
                // The server may come back, or a standby may take over, so keep trying.
                Err(error) if error.code() == Code::Unavailable && context.store.location().file().is_none() => {
                    tracing::warn!(%error, "cannot read the trail; trying again");
                    Vec::new()
                }
                read => read?,
            };
        }
        Ok(Reply::emitted())
    }
}

/// The most events that `--follow` shows at once.
const BATCH: usize = 1_000;

const POLL: std::time::Duration = std::time::Duration::from_millis(200);

fn reply(events: &[Event]) -> Reply {
    let table = Table {
        columns: &["SEQ", "AT", "BY", "PROJECT", "WHAT", "SUBJECT", "OUTCOME"],
        rows: events.iter().map(row).collect(),
        empty: "No events yet".to_owned(),
    };
    Reply::new(Body::Table(table), json!({ "events": events }))
}

fn row(event: &Event) -> Vec<String> {
    vec![
        event.seq.to_string(),
        rfc3339(event.at),
        event.actor.clone(),
        event.project.clone().unwrap_or_default(),
        event.kind.clone(),
        event.subject.clone(),
        event.outcome.clone(),
    ]
}
