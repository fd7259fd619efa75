//! `mcpkg events`: shows the audit trail (`events`), which records every change and every refused change.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use super::filter::{project, since};
use super::undo::{self, Status};
use crate::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Result};
use mcpkg_store::Db;
use mcpkg_store::events::{self, Event, Filter};

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
    /// Show only events by this actor, such as shell or mcp:claude-code
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// Show only events since this time: 14:02 (today, UTC), 2h (ago) or 2026-11-28T12:48:20Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show only events of this session: a client's connection, or a shell command
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Show only events of this kind, such as prompt.update; * stands for any text, as in *.delete
    #[arg(long)]
    kind: Option<String>,
    /// Keep printing new events as they happen
    #[arg(short, long)]
    #[serde(default)]
    follow: bool,
    /// Also show which events `mcpkg undo` can undo
    #[arg(long, conflicts_with = "follow")]
    #[serde(default)]
    undo: bool,
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
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg events", "mcpkg events --by mcp:claude-code --since 2h", "mcpkg events --follow --json"];
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
        let kind = self.kind.as_ref().map(|kind| kind.to_lowercase());
        let filter = Filter {
            after: self.after,
            actor: self.by.as_deref(),
            since: self.since.as_deref().map(|text| since(context, text)).transpose()?,
            project: project(context),
            session: self.session.as_deref(),
            kind: kind.as_deref(),
        };
        let empty = if filter == Filter::default() { "No events yet" } else { "No events match" };
        let (mut events, mut newest) = context.store.read(|db| {
            let events = named(db, &filter, limit)?;
            Ok((events, if self.follow { events::newest(db)? } else { 0 }))
        })?;
        if self.undo {
            let statuses = context.store.read(|db| undo::alone(context, db, &events))?;
            return Ok(with_undo(&events, &statuses, empty));
        }
        if !self.follow {
            return Ok(reply(&events, empty));
        }
        newest = self.after.unwrap_or(newest);
        while !context.is_cancelled() {
            if let Some(last) = events.last() {
                newest = last.seq;
                (context.emit)(reply(&events, empty))?;
            }
            std::thread::sleep(POLL);
            let filter = Filter { after: Some(newest), ..filter };
            events = match context.store.read(|db| named(db, &filter, BATCH)) {
                // The database server may come back, or a standby may take over, so keep trying.
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

/// The maximum number of events that `--follow` shows at once.
const BATCH: usize = 1_000;

const POLL: std::time::Duration = std::time::Duration::from_millis(200);

fn named(db: &Db<'_>, filter: &Filter<'_>, limit: usize) -> Result<Vec<Event>> {
    let mut events = events::filtered(db, filter, limit)?;
    events::with_names(db, &mut events)?;
    Ok(events)
}

fn reply(events: &[Event], empty: &str) -> Reply {
    let table = Table {
        columns: &["SEQ", "AT", "BY", "PROJECT", "WHAT", "SUBJECT", "OUTCOME", "SESSION"],
        rows: events.iter().map(row).collect(),
        empty: empty.to_owned(),
    };
    Reply::new(Body::Table(table), json!({ "events": events }))
}

/// Like [`reply`], with the status that an undo of each event would have.
fn with_undo(events: &[Event], statuses: &[Status], empty: &str) -> Reply {
    let word = |status: &Status| match status {
        Status::In => "yes",
        Status::Stop => "changed later",
        Status::Out => "",
    };
    let rows = events.iter().zip(statuses).map(|(event, status)| {
        let mut cells = row(event);
        cells.insert(7, word(status).to_owned());
        cells
    });
    let table = Table {
        columns: &["SEQ", "AT", "BY", "PROJECT", "WHAT", "SUBJECT", "OUTCOME", "UNDO", "SESSION"],
        rows: rows.collect(),
        empty: empty.to_owned(),
    };
    let data = events.iter().zip(statuses).map(|(event, status)| {
        let mut data = json!(event);
        data["undo"] = json!(status);
        data
    });
    Reply::new(Body::Table(table), json!({ "events": data.collect::<Vec<_>>() }))
}

/// Returns an event's subject for people: its name and the last characters of its id, which commands accept as the id.
fn subject(event: &Event) -> String {
    let id = event.subject.split('/').next().unwrap_or_default();
    match (&event.subject_name, id.len().checked_sub(SUFFIX).and_then(|at| id.get(at..))) {
        (Some(name), Some(end)) => format!("{name}{} ({end})", &event.subject[id.len()..]),
        _ => event.subject.clone(),
    }
}

/// How many characters from the end of an id are shown: enough to tell ids apart.
const SUFFIX: usize = 12;

fn row(event: &Event) -> Vec<String> {
    vec![
        event.seq.to_string(),
        rfc3339(event.at),
        event.actor.clone(),
        event.project.clone().unwrap_or_default(),
        event.kind.clone(),
        subject(event),
        event.outcome.clone(),
        event.session.clone().unwrap_or_default(),
    ]
}
