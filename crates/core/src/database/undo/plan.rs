//! What an undo would do, and doing it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::op::{Context, Undoable};
use mcpkg_base::clock::{self, Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::events::{self, Event, Filter};
use mcpkg_store::{Change, Db};

/// Which events to undo: those with these numbers, or all that match the filter.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub events: Vec<i64>,
    pub by: Option<String>,
    pub since: Option<Millis>,
    pub session: Option<String>,
    pub project: Option<String>,
    /// Events to leave out.
    pub except: Vec<i64>,
}

/// What an undo does, with a line for each change, the oldest first.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    pub changes: Vec<Line>,
    #[serde(skip)]
    steps: Vec<Step>,
}

/// A change, and what an undo does with it.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The number of the event.
    pub event: i64,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
    pub project: Option<String>,
    /// The kind of the event, such as `prompt.update`.
    pub kind: String,
    /// What was changed, such as `prompt review`.
    pub subject: String,
    pub status: Status,
    /// What the undo does, or why it does nothing.
    pub undo: String,
    /// The last change of the same item by somebody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The undo takes it back.
    In,
    /// Somebody changed the item later, or took its name, so it stays.
    Stop,
    /// It cannot be undone, or there is nothing to undo.
    Out,
}

impl Status {
    /// Returns the word in a table.
    pub const fn word(self) -> &'static str {
        match self {
            Status::In => "IN",
            Status::Stop => "STOP",
            Status::Out => "--",
        }
    }
}

/// A later change of an item.
#[derive(Clone, Debug, Serialize)]
pub struct Later {
    pub event: i64,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
}

/// An item that changes, and the state it gets.
#[derive(Clone)]
struct Step {
    how: &'static dyn Undoable,
    item: String,
    to: String,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} to {:?}", self.how.kind(), self.item, self.to)
    }
}

/// An item while the events are undone in thought.
struct Item {
    how: &'static dyn Undoable,
    /// The content it has now, and the state and content that it gets.
    now: Option<String>,
    state: String,
    content: Option<String>,
}

/// Returns what an undo of the events would do. Changes nothing.
///
/// # Errors
/// `E_NOT_FOUND` for an event that does not exist.
pub fn preview(context: &Context, db: &Db<'_>, asked: &Asked) -> Result<Preview> {
    let events = selected(db, asked)?;
    let mine: Vec<i64> = events.iter().map(|event| event.seq).filter(|seq| !asked.except.contains(seq)).collect();
    let mut planner = Planner { context, db, mine, items: BTreeMap::new(), lines: Vec::new() };
    for event in events.iter().rev() {
        planner.event(event, asked)?;
    }
    planner.end()
}

/// Returns the events, the oldest first.
fn selected(db: &Db<'_>, asked: &Asked) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    if asked.events.is_empty() {
        let Asked { by, session, project, .. } = asked;
        let (actor, session, project) = (by.as_deref(), session.as_deref(), project.as_deref());
        let filter = Filter { after: Some(0), actor, since: asked.since, project, session };
        events = events::filtered(db, &filter, usize::MAX)?;
        // A refused change changed nothing.
        events.retain(|event| event.outcome == "ok");
    } else {
        for seq in asked.events.iter().collect::<BTreeSet<_>>() {
            events.push(events::get(db, *seq)?.ok_or_else(|| {
                Error::new(Code::NotFound, format!("Event {seq} does not exist"))
                    .with_details(serde_json::json!({ "event": seq }))
                    .hint("`mcpkg events` lists the events; older ones may have been pruned")
            })?);
        }
    }
    events::with_names(db, &mut events)?;
    Ok(events)
}

/// Builds a preview.
struct Planner<'a, 'c> {
    context: &'a Context,
    db: &'a Db<'c>,
    /// The events that are undone.
    mine: Vec<i64>,
    /// The items by kind and key.
    items: BTreeMap<(String, String), Item>,
    /// The lines, the newest first, each with its item.
    lines: Vec<(Line, Option<(String, String)>)>,
}

impl Planner<'_, '_> {
    /// Adds the lines of an event.
    fn event(&mut self, event: &Event, asked: &Asked) -> Result<()> {
        let out = |why: String| {
            let name = event.subject_name.as_deref().unwrap_or(&event.subject);
            (line(event, name.to_owned(), Status::Out, why), None)
        };
        if asked.except.contains(&event.seq) {
            self.lines.push(out("left out by --except".to_owned()));
            return Ok(());
        }
        if event.outcome != "ok" {
            self.lines.push(out(format!("it was refused ({}), so it changed nothing", event.outcome)));
            return Ok(());
        }
        let changes = events::changes(self.db, event.seq)?;
        let mut any = false;
        for change in changes.iter().rev() {
            if let Some(how) = self.how(&change.kind) {
                any = true;
                let found = self.change(how, event, change)?;
                self.lines.push(found);
            }
        }
        // Items without a history are only worth a line if nothing else of the event can be undone, or if something else can.
        let lost: BTreeSet<&str> =
            changes.iter().map(|change| change.kind.as_str()).filter(|kind| self.how(kind).is_none()).collect();
        for kind in &lost {
            self.lines.push(out(self.reason(kind).unwrap_or_else(|| no_history(kind))));
        }
        if !any && lost.is_empty() {
            self.lines.push(out(self.unrecorded(event)));
        }
        Ok(())
    }

    fn how(&self, kind: &str) -> Option<&'static dyn Undoable> {
        let mut all = self.context.domains.iter().flat_map(|domain| domain.undo.items).copied();
        all.find(|item| item.kind() == kind)
    }

    /// Returns why events of a kind cannot be undone, if a domain says so.
    fn reason(&self, kind: &str) -> Option<String> {
        let begins =
            |begin: &str| kind.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let all = self.context.domains.iter().flat_map(|domain| domain.undo.lasting);
        // The longest beginning wins.
        all.filter(|(begin, _)| begins(begin)).max_by_key(|(begin, _)| begin.len()).map(|(_, why)| (*why).to_owned())
    }

    /// Returns why an event without recorded changes cannot be undone.
    fn unrecorded(&self, event: &Event) -> String {
        let mut alone = self.context.domains.iter().flat_map(|domain| domain.undo.alone);
        if alone.any(|(kind, _)| *kind == event.kind) {
            return format!("it changed files, so it is undone on its own: mcpkg undo {}", event.seq);
        }
        self.reason(&event.kind).unwrap_or_else(|| {
            if event.session.is_none() {
                return "an earlier version of mcpkg recorded it without what an undo needs".to_owned();
            }
            format!("mcpkg cannot undo `{}`", event.kind.replace('.', " "))
        })
    }

    /// Decides on one change, and returns its line.
    fn change(
        &mut self,
        how: &'static dyn Undoable,
        event: &Event,
        change: &Change,
    ) -> Result<(Line, Option<(String, String)>)> {
        let Change { kind, item: id, before, after } = change;
        let (db, key) = (self.db, (kind.clone(), id.clone()));
        if !self.items.contains_key(&key) {
            let state = how.now(self.context, db, id)?;
            let content = how.content(db, id, &state)?;
            self.items.insert(key.clone(), Item { how, now: content.clone(), state, content });
        }
        let named = if after.is_empty() { before } else { after };
        let subject = how.name(db, id, named)?.unwrap_or_else(|| event.subject.clone());
        let made = |status, undo: String| line(event, subject, status, undo);
        let Some(item) = self.items.get_mut(&key) else { return Err(Error::internal("an item is missing")) };
        let Some(content) = how.content(db, id, before)? else {
            return Ok((made(Status::Out, "its earlier state is no longer stored".to_owned()), None));
        };
        let is_after = item.state == *after || (item.content.is_some() && how.content(db, id, after)? == item.content);
        if !is_after {
            if item.content.as_ref() == Some(&content) {
                return Ok((made(Status::Out, "it is already back as it was".to_owned()), None));
            }
            let later = events::last_about(db, event.seq, kind, id, &self.mine)?;
            let later = later.map(|event| Later { event: event.seq, at: event.at, actor: event.actor });
            let (status, why) = match &later {
                Some(Later { event, at, actor }) => {
                    (Status::Stop, format!("{actor} changed it at {} (event {event})", rfc3339(*at)))
                }
                None => (Status::Out, "a later change of it is not undone".to_owned()),
            };
            return Ok((Line { later, ..made(status, why) }, None));
        }
        Ok(match how.going(db, id, after, before)? {
            Err(why) => (made(Status::Out, why), None),
            Ok(undo) => {
                (item.state, item.content) = (before.clone(), Some(content));
                (made(Status::In, undo), Some(key))
            }
        })
    }

    /// Finds the items that something stands in the way of, and returns the preview.
    fn end(mut self) -> Result<Preview> {
        let moving: BTreeSet<(String, String)> =
            self.items.iter().filter(|(_, item)| item.now != item.content).map(|(key, _)| key.clone()).collect();
        let mut steps = Vec::new();
        for key in &moving {
            let Some(item) = self.items.get(key) else { continue };
            let moves = |id: &str| moving.contains(&(key.0.clone(), id.to_owned()));
            match item.how.obstacle(self.db, &key.1, &item.state, &moves)? {
                None => steps.push(Step { how: item.how, item: key.1.clone(), to: item.state.clone() }),
                Some(why) => {
                    for (line, _) in self.lines.iter_mut().filter(|(_, of)| of.as_ref() == Some(key)) {
                        line.status = Status::Stop;
                        line.undo.clone_from(&why);
                    }
                }
            }
        }
        // What goes away first makes names free for what comes back.
        steps.sort_by_key(|step| !step.to.is_empty());
        let changes = self.lines.into_iter().rev().map(|(line, _)| line).collect();
        Ok(Preview { changes, steps })
    }
}

fn line(event: &Event, subject: String, status: Status, undo: String) -> Line {
    Line {
        event: event.seq,
        at: event.at,
        actor: event.actor.clone(),
        project: event.project.clone(),
        kind: event.kind.clone(),
        subject,
        status,
        undo,
        later: None,
    }
}

fn no_history(kind: &str) -> String {
    format!("mcpkg keeps no history of {}s", kind.replace('-', " "))
}

impl Preview {
    /// Returns how many changes have this status.
    pub fn count(&self, status: Status) -> usize {
        self.changes.iter().filter(|line| line.status == status).count()
    }

    /// Undoes the changes, in an open write transaction, as one event. Returns its number.
    pub(super) fn apply(&self, context: &Context, db: &Db<'_>) -> Result<i64> {
        let author = context.author();
        let mut waiting = self.steps.clone();
        let mut aside = BTreeSet::new();
        while !waiting.is_empty() {
            let count = waiting.len();
            let mut blocked = Vec::new();
            for step in waiting {
                match step.how.obstacle(db, &step.item, &step.to, &|_| false)? {
                    Some(_) => blocked.push(step),
                    None => step.how.put(context, db, author, &step.item, &step.to)?,
                }
            }
            // Items that swapped their names wait for each other.
            if let Some(step) = blocked.first().filter(|_| blocked.len() == count) {
                if !aside.insert(step.item.clone()) {
                    return Err(Error::internal(format!("{step:?} is blocked")));
                }
                step.how.aside(db, author, &step.item)?;
                blocked.rotate_left(1);
            }
            waiting = blocked;
        }
        let undone = self.changes.iter().filter(|line| line.status == Status::In);
        let projects: BTreeSet<_> = undone.clone().filter_map(|line| line.project.as_deref()).collect();
        let project = projects.first().copied().filter(|_| projects.len() == 1);
        let events: BTreeSet<i64> = undone.map(|line| line.event).collect();
        context.event(db, author, project, "undo", &numbers(&events))?;
        events::newest(db)
    }
}

/// Returns numbers as a short text: `4-6, 9`.
fn numbers(events: &BTreeSet<i64>) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for &seq in events {
        match ranges.last_mut().filter(|(_, last)| *last + 1 == seq) {
            Some((_, last)) => *last = seq,
            None => ranges.push((seq, seq)),
        }
    }
    let shown = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    mcpkg_base::plural::first(shown, 10)
}
