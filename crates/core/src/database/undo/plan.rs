//! Plans an undo, and applies the plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::op::{Context, Undoable};
use mcpkg_base::clock::{self, Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_store::events::{self, Event, Filter};
use mcpkg_store::{Change, Db};

/// The events to undo: those in `events` or, if it is empty, all that match the other fields.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    pub events: Vec<i64>,
    pub by: Option<String>,
    pub since: Option<Millis>,
    pub session: Option<String>,
    pub project: Option<String>,
    /// The numbers of events to leave out.
    pub except: Vec<i64>,
}

/// The plan of an undo: the lines to show, oldest first, and the steps to apply.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    pub changes: Vec<Line>,
    #[serde(skip)]
    steps: Vec<Step>,
}

/// A change, and how the undo treats it.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub event: i64,
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    pub actor: String,
    pub project: Option<String>,
    /// The event's kind, such as `prompt.update`.
    pub kind: String,
    /// The name of the changed item, such as `prompt review`.
    pub subject: String,
    pub status: Status,
    /// The undo's action for the item, or the reason why the undo skips the item.
    pub undo: String,
    /// The item's latest change by an event that the undo does not cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The undo reverts the change.
    In,
    /// The undo skips the change, because somebody changed the item later or took its name.
    Stop,
    /// The change cannot be undone, or there is nothing to undo.
    Out,
}

impl Status {
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

/// An item to change, and its new state.
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

/// The planned state of an item. Nothing is written to the database yet.
struct Item {
    how: &'static dyn Undoable,
    /// The item's current content in the database. After the planned steps, the item has `state` and `content`.
    now: Option<String>,
    state: String,
    content: Option<String>,
}

/// Plans an undo of the events. Changes nothing.
///
/// # Errors
/// `E_NOT_FOUND` for an event that does not exist.
pub fn preview(context: &Context, db: &Db<'_>, asked: &EventFilter) -> Result<Preview> {
    let events = selected(db, asked)?;
    let mine: Vec<i64> = events.iter().map(|event| event.seq).filter(|seq| !asked.except.contains(seq)).collect();
    let mut planner = Planner { context, db, mine, items: BTreeMap::new(), lines: Vec::new() };
    for event in events.iter().rev() {
        planner.event(event, asked)?;
    }
    planner.end()
}

/// Returns each event's status if only that event were undone.
pub fn alone(context: &Context, db: &Db<'_>, events: &[Event]) -> Result<Vec<Status>> {
    let is_deploy = |event: &Event| {
        context.domains.iter().flat_map(|domain| domain.undo.alone).any(|(kind, _)| *kind == event.kind)
    };
    let status = |event: &Event| {
        if event.outcome == "ok" && is_deploy(event) {
            return Ok(Status::In);
        }
        let mut planner = Planner { context, db, mine: vec![event.seq], items: BTreeMap::new(), lines: Vec::new() };
        planner.event(event, &EventFilter::default())?;
        let preview = planner.end()?;
        let first = [Status::In, Status::Stop].into_iter().find(|status| preview.count(*status) > 0);
        Ok(first.unwrap_or(Status::Out))
    };
    events.iter().map(status).collect()
}

/// Returns the events to undo, oldest first.
fn selected(db: &Db<'_>, asked: &EventFilter) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    if asked.events.is_empty() {
        let EventFilter { by, session, project, .. } = asked;
        let (actor, session, project) = (by.as_deref(), session.as_deref(), project.as_deref());
        let filter = Filter { after: Some(0), actor, since: asked.since, project, session, kind: None };
        events = events::filtered(db, &filter, usize::MAX)?;
        // A refused operation changed nothing.
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

/// Builds a [`Preview`].
struct Planner<'a, 'c> {
    context: &'a Context,
    db: &'a Db<'c>,
    /// The numbers of the events to undo.
    mine: Vec<i64>,
    /// The items by kind and key.
    items: BTreeMap<(String, String), Item>,
    /// The lines, newest first, each with the key of its item in `items`.
    lines: Vec<(Line, Option<(String, String)>)>,
}

impl Planner<'_, '_> {
    fn event(&mut self, event: &Event, asked: &EventFilter) -> Result<()> {
        let out = |why: String| {
            let name = event.subject_name.as_deref().unwrap_or(&event.subject);
            (line(event, name.to_owned(), Status::Out, why), None)
        };
        if asked.except.contains(&event.seq) {
            self.lines.push(out("left out".to_owned()));
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
        // Changes of items without a history cannot be undone. Add one line for each kind of such items.
        let lost: BTreeSet<&str> =
            changes.iter().map(|change| change.kind.as_str()).filter(|kind| self.how(kind).is_none()).collect();
        for kind in &lost {
            // An item that the event created has no earlier state to bring back.
            let is_new = changes.iter().filter(|change| change.kind == *kind).all(|change| change.before.is_empty());
            let reason = if is_new { self.reason(&format!("{kind}.create")) } else { self.reason(kind) };
            self.lines.push(out(reason.unwrap_or_else(|| no_history(kind))));
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

    /// Returns the reason why events of a kind cannot be undone, if a domain declares one.
    fn reason(&self, kind: &str) -> Option<String> {
        let begins =
            |begin: &str| kind.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let all = self.context.domains.iter().flat_map(|domain| domain.undo.lasting);
        // The longest matching prefix is the most specific one.
        all.filter(|(begin, _)| begins(begin)).max_by_key(|(begin, _)| begin.len()).map(|(_, why)| (*why).to_owned())
    }

    /// Returns the reason why an event without recorded changes cannot be undone.
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

    /// Plans the undo of one change. Returns its line and, if the change can be undone, the key of the item.
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
                return Ok((made(Status::Out, "already back".to_owned()), None));
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

    /// Removes the items that cannot be restored, for example because their name is taken, and returns the preview.
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
        // Deletions come first, because they free names that restored items need.
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
    pub fn count(&self, status: Status) -> usize {
        self.changes.iter().filter(|line| line.status == status).count()
    }

    /// Describes in words how many changes are undone and how many requests are denied. `undo` and `deny` are the verbs, as in
    /// `undo 3 changes, deny 1 request`.
    pub(super) fn counted(&self, undo: &str, deny: &str) -> String {
        let requests = |line: &&Line| line.status == Status::In && line.kind == "consent.request";
        let denied = self.changes.iter().filter(requests).count();
        match (self.count(Status::In) - denied, denied) {
            (undone, 0) => format!("{undo} {}", plural::count(undone, "change")),
            (0, denied) => format!("{deny} {}", plural::count(denied, "request")),
            (undone, denied) => {
                format!("{undo} {}, {deny} {}", plural::count(undone, "change"), plural::count(denied, "request"))
            }
        }
    }

    /// Applies the plan in an open write transaction, and records one event. Returns the number of that event.
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
            // Items that swapped their names block each other. Give one of them a temporary name.
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

/// Formats numbers as ranges: `4-6, 9`.
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
