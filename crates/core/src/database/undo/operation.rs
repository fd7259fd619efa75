//! `mcpkg undo`: reverts changes that the audit trail records.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EventFilter, Preview, Status, preview};
use crate::database::GROUP;
use crate::database::filter::{project, since};
use crate::op::{Body, Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_store::events;

/// Undo changes
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Undo {
    /// Sequence numbers of events, as `mcpkg events` shows them
    #[arg(value_name = "EVENT", required_unless_present_any = ["by", "session"], conflicts_with_all = ["by", "since", "session", "except"])]
    #[serde(default)]
    events: Vec<i64>,
    /// Undo everything by this actor, such as mcp:claude-code, since a time
    #[arg(long, value_name = "WHO", requires = "since")]
    by: Option<String>,
    /// Undo only changes since this time: 14:02 (today, UTC), 2h (ago) or 2026-11-28T12:48:20Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Undo everything in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Events to leave out
    #[arg(long, value_name = "EVENT", num_args = 1..)]
    #[serde(default)]
    except: Vec<i64>,
    /// Show what would be undone, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Undo {
    const TOOL: &'static str = "undo";
    const CLI: &'static [&'static str] = &["undo"];
    const TITLE: &'static str = "Undo changes";
    const ABOUT: &'static str =
        "Undo changes that the audit trail records, such as everything that an agent did since a time";
    const HELP: &'static str = "Undoes changes of prompts, resources, skills, instructions and the selected project, rejects \
        proposed drafts, and denies requests for consent. If somebody changed an item later, mcpkg leaves it and says who and \
        when. Everything else is undone in one transaction, as one event, which `mcpkg undo` can undo too. A deploy is undone \
        by a rollback, so name its event alone. At a terminal, mcpkg shows what it would do and asks; without a terminal, pass \
        --yes. mcpkg exits with status 3 if it left out a change that somebody changed later, or an event that you named.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg undo 17",
        "mcpkg undo --by mcp:claude-code --since 14:02 --dry-run",
        "mcpkg undo --by mcp:claude-code --since 2h --except 21",
    ];
    const EFFECT: Effect = Effect::Write;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::Refuse
    }

    fn subject(&self) -> String {
        let events: Vec<_> = self.events.iter().map(i64::to_string).collect();
        self.by.clone().or_else(|| self.session.clone()).unwrap_or_else(|| events.join(", "))
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(done) = self.alone(context)? {
            return Ok(done);
        }
        let asked = EventFilter {
            since: self.since.as_deref().map(|text| since(context, text)).transpose()?,
            events: self.events,
            by: self.by,
            session: self.session,
            project: project(context).map(str::to_owned),
            except: self.except,
        };
        let shown = context.store.read(|db| preview(context, db, &asked))?;
        if self.dry_run || shown.count(Status::In) == 0 {
            return Ok(reply(&shown, &asked, None));
        }
        let question = format!("{}?", upper(&shown.counted("undo", "deny")));
        (context.ask)(Body::Table(table(&shown)), &question)?;
        // Undo only the events that were shown: the agent may have made more changes while the question was open.
        let seqs: Vec<i64> = shown.changes.iter().map(|line| line.event).collect();
        let again = EventFilter { events: seqs, except: asked.except.clone(), ..EventFilter::default() };
        let (done, seq) = context.store.write(|db| {
            let now = preview(context, db, &again)?;
            if now.count(Status::In) == 0 {
                return Ok((now, None));
            }
            let seq = now.apply(context, db)?;
            Ok((now, Some(seq)))
        })?;
        Ok(reply(&done, &asked, seq))
    }
}

impl Undo {
    /// Undoes a single event that cannot be combined with others, such as a deploy. Otherwise returns `None`.
    fn alone(&self, context: &Context) -> Result<Option<Reply>> {
        let [seq] = self.events[..] else { return Ok(None) };
        let Some(event) = context.store.read(|db| events::get(db, seq))?.filter(|event| event.outcome == "ok") else {
            return Ok(None);
        };
        let mut all = context.domains.iter().flat_map(|domain| domain.undo.alone);
        let Some((_, undo)) = all.find(|(kind, _)| *kind == event.kind) else { return Ok(None) };
        undo(context, &event, self.dry_run).map(Some)
    }
}

fn reply(preview: &Preview, asked: &EventFilter, seq: Option<i64>) -> Reply {
    let [undone, stopped, out] = [Status::In, Status::Stop, Status::Out].map(|status| preview.count(status));
    let mut sentence = match (seq, undone, stopped + out) {
        (Some(_), ..) => upper(&preview.counted("undid", "denied")),
        (None, 0, 0) => "No changes to undo".to_owned(),
        (None, 0, _) => "Nothing was undone".to_owned(),
        (None, ..) => format!("Would {}", preview.counted("undo", "deny")),
    };
    if stopped > 0 {
        sentence.push_str(&format!("; left {stopped} because somebody changed the item later"));
    }
    if out > 0 {
        sentence.push_str(&format!("; left out {out}"));
    }
    let data = json!({
        "undone": if seq.is_some() { undone } else { 0 },
        "stopped": stopped,
        "out": out,
        "event": seq,
        "changes": serde_json::to_value(&preview.changes).unwrap_or(Value::Null),
    });
    let mut bodies = Vec::new();
    if !preview.changes.is_empty() {
        bodies.push(Body::Table(table(preview)));
    }
    bodies.push(Body::Sentence(sentence));
    let mut reply = Reply::new(Body::Several(bodies), data);
    reply.differs = stopped > 0 || (!asked.events.is_empty() && out > 0);
    match seq {
        Some(seq) => reply.hint(format!("`mcpkg undo {seq}` undoes this undo")),
        None => reply,
    }
}

fn upper(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

fn table(preview: &Preview) -> Table {
    let rows = preview.changes.iter().map(|line| {
        vec![
            line.status.word().to_owned(),
            line.event.to_string(),
            rfc3339(line.at),
            line.actor.clone(),
            line.subject.clone(),
            line.undo.clone(),
        ]
    });
    Table { columns: &["STATUS", "SEQ", "AT", "BY", "SUBJECT", "UNDO"], rows: rows.collect(), empty: String::new() }
}
