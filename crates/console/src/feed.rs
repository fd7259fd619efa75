//! Builds three screens: the feed (a list of events), one event, and the preview of an undo.

use std::collections::BTreeSet;

use serde_json::Value;

use mcpkg_base::clock::from_rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Does, Invocation};
use crate::data::{count, number, rows, text, time};
use crate::pages;
use crate::phases::{Phases, run, step};
use crate::place::{Following, Part, Place, Undo};
use crate::reply;
use crate::screen::{Line, List, Row, Screen, Span, Tone};
use crate::time::{exact, until};

const VIEWS: &[&str] = &["by time", "by agent", "by session", "by item"];

/// Shows the newest events. `marked` are the ids of the runs to make a workflow from.
pub fn screen(context: &Context, part: &Part, marked: &[String]) -> Result<Screen> {
    let (view, shown) = (part.view, part.rows / 2);
    // Read one event more than is shown, to know whether there are more.
    let data = Invocation::new("events").flag("--undo").option("--limit", &(shown + 1).to_string()).read(context)?;
    let mut events: Vec<&Value> = rows(&data, "events").iter().rev().collect();
    let has_more = events.len() > shown;
    events.truncate(shown);
    let group = match VIEWS[view % VIEWS.len()] {
        "by agent" => Some("actor"),
        "by session" => Some("session"),
        "by item" => Some("subject"),
        _ => None,
    };
    let now = context.clock.now();
    let phases = Phases::of(context, &events);
    let mut list = Vec::new();
    if let Some(group) = group {
        // Groups are ordered by their newest event. The sort is stable, so the newest event of a group stays on top.
        let mut order: Vec<&str> = Vec::new();
        for event in &events {
            let name = text(event, group);
            if !order.contains(&name) {
                order.push(name);
            }
        }
        events.sort_by_key(|event| order.iter().position(|name| *name == text(event, group)));
    }
    let mut last = None;
    for event in events {
        if let Some(group) = group.filter(|group| last != Some(text(event, group))) {
            last = Some(text(event, group));
            list.push(Row::heading(match text(event, group) {
                "" => "(other)",
                name => name,
            }));
        }
        list.push(row(event, &phases, now, marked));
    }
    list.extend(has_more.then(|| pages::more("events")));
    let title = pages::titled(&format!("Feed, {}", VIEWS[view % VIEWS.len()]), &list);
    let title = match marked.len() {
        0 => title,
        runs => format!("{title}; {} marked", count(runs as u64, "run")),
    };
    let list = List {
        columns: &["", "AT", "BY", "WHAT", ""],
        rows: list,
        empty: "Nothing has happened yet. Each change of a person or an agent appears here.",
        signs: SIGNS,
        ..List::default()
    };
    let propose = (!marked.is_empty()).then(|| {
        // The id of a run begins with its time, so the steps of the workflow are in the order of the runs.
        let mut runs = marked.to_vec();
        runs.sort_unstable();
        Action::call('P', "propose a workflow", runs.into_iter().fold(Invocation::new("draft infer"), Invocation::with))
    });
    Ok(Screen::list(title, list).views(VIEWS).with(propose))
}

/// Returns the row of an event, such as `12:49:05 mcp:codex prompt review updated`.
fn row(event: &Value, phases: &Phases, now: i64, marked: &[String]) -> Row {
    let seq = event["seq"].as_i64().unwrap_or_default();
    let outcome = match text(event, "outcome") {
        "ok" if run(event).is_some_and(|run| marked.iter().any(|marked| marked == run)) => {
            Span::new(Tone::Good, "marked")
        }
        "ok" => Span::plain(""),
        // `E_CONSENT_REQUIRED` -> `consent required`
        refused => Span::new(Tone::Bad, &refused.trim_start_matches("E_").replace('_', " ").to_lowercase()),
    };
    let is_done = text(event, "outcome") == "ok";
    let mut actions = undos(event);
    if let Some(run) = run(event).filter(|_| is_done) {
        let others: Vec<String> = marked.iter().filter(|marked| *marked != run).cloned().collect();
        let more = (others.len() == marked.len()).then(|| run.to_owned());
        let marked: Vec<String> = others.into_iter().chain(more).collect();
        let place = if marked.is_empty() { Place::Feed } else { Place::Marked(marked) };
        // Keep `U` last: its label is long, and the last row of a narrow screen has room for the first keys only.
        actions.insert(actions.len() - 1, Action::new(' ', "mark", Does::Replace(place)));
    }
    Row {
        id: seq.to_string(),
        cells: vec![
            sign(event),
            Span::new(Tone::Dim, &time(event, "at").map(|at| exact(at, now)).unwrap_or_default()),
            Span::new(Tone::Name, text(event, "actor")),
            Span::plain(&(what(event) + &phases.words(event))),
            outcome,
        ],
        look: Some(Place::Event(seq)),
        actions,
        is_heading: false,
    }
}

/// Returns the actions for an event. `u` undoes the event; it is offered if the undo is possible, or if only a later
/// change stops it. `U` undoes the event and everything that its actor did after it.
fn undos(event: &Value) -> Vec<Action> {
    let seq = event["seq"].as_i64().unwrap_or_default();
    let all = Following {
        actor: text(event, "actor").to_owned(),
        since: text(event, "at").to_owned(),
        first: seq,
        except: Vec::new(),
        denied: Vec::new(),
    };
    let label = match text(event, "actor") {
        "shell" => "undo the shell's work from here",
        "console" => "undo the console's work from here",
        actor if actor.starts_with("console:") => "undo this person's work from here",
        _ => "undo this agent's work from here",
    };
    // If the item was changed later, the preview of the undo shows who changed it.
    let can_undo = matches!(text(event, "undo"), "in" | "stop");
    let one = can_undo.then(|| Action::open('u', "undo", Place::Undo(Undo::Event(seq))));
    one.into_iter().chain([Action::open('U', label, Place::Undo(Undo::By(all)))]).collect()
}

const CAN_UNDO: &str = "u";
const CHANGED_LATER: &str = "!";

const SIGNS: &[(&str, &str)] = &[(CAN_UNDO, "can be undone"), (CHANGED_LATER, "changed later")];

/// Returns the sign that shows whether an event can be undone.
fn sign(event: &Value) -> Span {
    match text(event, "undo") {
        "in" => Span::new(Tone::Good, CAN_UNDO),
        "stop" => Span::new(Tone::Warning, CHANGED_LATER),
        _ => Span::plain(""),
    }
}

/// Returns the name of the thing that changed, or its id if it has no name.
fn subject(event: &Value) -> &str {
    match text(event, "subject_name") {
        "" => text(event, "subject"),
        name => name,
    }
}

/// Returns what happened to what, such as `prompt update review`.
fn what(event: &Value) -> String {
    format!("{} {}", text(event, "kind").replace('.', " "), subject(event)).trim_end().to_owned()
}

/// Shows one event and, if possible, the item that it is about.
pub fn event(context: &Context, seq: i64) -> Result<Screen> {
    let after = (seq - 1).max(0).to_string();
    let data =
        Invocation::new("events").flag("--undo").option("--after", &after).option("--limit", "1").read(context)?;
    // If the event was pruned, the first event of the list is a later one.
    let Some(event) = rows(&data, "events").first().filter(|event| event["seq"] == seq) else {
        return Ok(Screen::text("Feed > event", vec![Line::plain("The event was pruned.")]));
    };
    let field = |name: &str, value: &str| Line::of(Tone::Dim, &format!("{name:<9}")).then(Tone::Plain, value);
    let mut lines = vec![
        field("what", &(what(event) + &step(event).map(|step| format!(": {step}")).unwrap_or_default())),
        field("by", text(event, "actor")),
        field("at", &time(event, "at").map(|at| exact(at, context.clock.now())).unwrap_or_default()),
        field("project", text(event, "project")),
        field("outcome", text(event, "outcome")),
        match text(event, "undo") {
            "in" => field("undo", "possible").then_keys(": press u"),
            _ => field("undo", &not_undone(context, event)),
        },
    ];
    lines.extend(details(context, event));
    let run = run(event).map(|run| Action::open('r', "open the run", Place::Run(run.to_owned())));
    Ok(Screen::text(format!("Feed > event {seq}"), lines).with(run).with(undos(event)))
}

/// Returns why an event cannot be undone.
fn not_undone(context: &Context, event: &Value) -> String {
    let preview = Invocation::new("undo").with(event["seq"].to_string()).preview(context);
    let data = preview.map(|found| found.data.clone()).unwrap_or_default();
    let changes = rows(&data, "changes");
    let change = changes.iter().find(|change| text(change, "status") == text(event, "undo")).or(changes.first());
    let why = change.map(|change| reason(context, change)).unwrap_or_default();
    match text(event, "undo") {
        "stop" => format!("{CHANGED_LATER} {}", if why.is_empty() { "somebody changed it later" } else { &why }),
        _ if why.is_empty() => "not possible".to_owned(),
        _ => format!("not possible: {why}"),
    }
}

/// Returns what an undo does about a change, or why it leaves the change alone. Times are local.
fn reason(context: &Context, change: &Value) -> String {
    let later = &change["later"];
    match time(later, "at").filter(|_| text(change, "status") == "stop") {
        Some(at) => {
            let at = until(at, context.clock.now());
            format!("{} changed it later, at {at} (event {})", text(later, "actor"), later["event"])
        }
        None => text(change, "undo").to_owned(),
    }
}

/// Shows what the event did: the change that it made to a prompt, resource or workflow (`diff`), or the draft or consent
/// request that it is about (`show`). Other events have no details.
fn details(context: &Context, event: &Value) -> Vec<Line> {
    let (noun, _) = text(event, "kind").split_once('.').unwrap_or_default();
    let name = text(event, "subject");
    let call = match noun {
        "workflow" if text(event, "kind").starts_with("workflow.run") => None,
        "prompt" | "resource" | "workflow" => change(context, event, noun, name),
        "draft" | "consent" => Some(Invocation::new(&format!("{noun} show")).with(name)),
        _ => None,
    };
    let Some(Ok(found)) = call.map(|call| call.run(context)) else { return Vec::new() };
    let mut lines = vec![Line::blank()];
    lines.extend(reply::lines(&found, context.asked_in));
    lines
}

/// The number of events to search for later changes of the same item in the same second.
const LATER: &str = "200";

/// Returns the call that shows what an event changed: `diff` of the revision that it made and the one before, or `show`
/// for the first revision.
fn change(context: &Context, event: &Value, noun: &str, name: &str) -> Option<Invocation> {
    let history = Invocation::new(&format!("{noun} history")).with(name).read(context).ok()?;
    let revisions = rows(&history, "revisions");
    let is_of = |revision: &&Value| ["at", "actor"].iter().all(|field| text(revision, field) == text(event, field));
    // Times are in seconds, so the item may have changed again at the same time.
    let seq = event["seq"].as_i64()?.to_string();
    let later = Invocation::new("events").option("--after", &seq).option("--limit", LATER).read(context).ok()?;
    let is_same =
        |later: &&Value| ["at", "actor", "subject", "outcome"].iter().all(|field| later[*field] == event[*field]);
    let is_noun = |later: &&Value| text(later, "kind").split('.').next() == Some(noun);
    let later = rows(&later, "events").iter().filter(is_same).filter(is_noun).count();
    let revision = number(revisions.iter().filter(is_of).nth(later)?, "revision");
    match revision {
        // No revision precedes the first one, so show its text. `show` shows the newest revision, so this works only
        // while there is just one.
        1 => (revisions.len() == 1).then(|| Invocation::new(&format!("{noun} show")).with(name)),
        revision => {
            let call = Invocation::new(&format!("{noun} diff")).with(name);
            Some(call.with((revision - 1).to_string()).with(revision.to_string()))
        }
    }
}

/// Shows the preview of `mcpkg undo --dry-run`. In [`Undo::By`], `space` excludes or includes a change or a request. At
/// first, requests are excluded.
pub fn undo(context: &Context, undo: &Undo) -> Result<Screen> {
    let short = |since: &str| from_rfc3339(since).map(|at| exact(at, context.clock.now())).unwrap_or_default();
    let (title, call) = match undo {
        Undo::Event(seq) => (format!("Feed > Undo event {seq}"), Invocation::new("undo").with(seq.to_string())),
        Undo::By(Following { actor, since, .. }) => (
            match actor.as_str() {
                "shell" | "console" => format!("Feed > Undo what was done in the {actor} since {}", short(since)),
                _ => format!("Feed > Undo what {actor} did since {}", short(since)),
            },
            Invocation::new("undo").option("--by", actor).option("--since", since),
        ),
    };
    let whole = call.preview(context)?;
    if rows(&whole.data, "changes").is_empty() {
        // A deploy is undone by a rollback, whose preview has no `changes`.
        let is_rollback = whole.data.get("changes").is_none();
        let undo = is_rollback.then(|| Action::call('a', "undo", call));
        return Ok(Screen::text(title, reply::lines(&whole, context.asked_in)).with(undo));
    }
    let out = match undo {
        Undo::Event(_) => BTreeSet::new(),
        Undo::By(following) => out(following, rows(&whole.data, "changes")),
    };
    let call = call.options("--except", out.iter().map(ToString::to_string));
    let found = if out.is_empty() { whole.data.clone() } else { call.preview(context)?.data.clone() };
    let is_shown = |change: &&Value| match undo {
        Undo::Event(_) => true,
        Undo::By(following) => event_of(change) >= following.first,
    };
    let row = |change: &Value| {
        let (word, tone) = match text(change, "status") {
            "in" => ("will be undone", Tone::Good),
            "stop" => ("stop", Tone::Warning),
            _ => ("stays", Tone::Dim),
        };
        let is_in = text(change, "status") == "in";
        let event = event_of(change);
        // For an excluded change, `found` names only its event, so take the subject from `whole`.
        let named =
            rows(&whole.data, "changes").iter().find(|change| out.contains(&event) && event_of(change) == event);
        let other = match undo {
            Undo::By(following) if is_in || out.contains(&event) => Some(following.switched(event, &out, change)),
            _ => None,
        };
        Row {
            id: event.to_string(),
            cells: vec![
                Span::new(tone, word),
                Span::plain(&name_of(named.unwrap_or(change))),
                Span::plain(&reason(context, change)),
            ],
            look: Some(Place::Event(event)),
            actions: other.map(|other| Action::switch(is_in, Place::Undo(Undo::By(other)))).into_iter().collect(),
            is_heading: false,
        }
    };
    let list = List {
        columns: &["", "CHANGE", "UNDO"],
        rows: rows(&found, "changes").iter().filter(is_shown).map(row).collect(),
        empty: match undo {
            Undo::Event(_) => "There is nothing to undo.",
            Undo::By(_) => "Nothing since this row can be undone. To undo more, begin at an older row of the feed.",
        },
        ..List::default()
    };
    let undone = rows(&found, "changes").iter().filter(|change| text(change, "status") == "in");
    let (requests, changes): (Vec<&Value>, Vec<&Value>) = undone.partition(|change| is_request(change));
    let [requests, changes] =
        [(requests, "request"), (changes, "change")].map(|(all, of)| (all.len(), count(all.len() as u64, of)));
    let action = match (changes.0, requests.0) {
        (0, 0) => None,
        (0, _) => Some(Action { what: requests.1, ..Action::call('a', "deny", call) }),
        (_, 0) => Some(Action { what: changes.1, ..Action::call('a', "undo", call) }),
        (..) => Some(Action { what: format!("{}, deny {}", changes.1, requests.1), ..Action::call('a', "undo", call) }),
    };
    let again = match undo {
        Undo::By(following) if !following.except.is_empty() => {
            let all = Following { except: Vec::new(), ..following.clone() };
            Some(Action::new('r', "all in again", Does::Replace(Place::Undo(Undo::By(all)))))
        }
        _ => None,
    };
    Ok(Screen::list(title, list).with(action.into_iter().chain(again)))
}

/// Returns the name of the thing that an undo would change; without a name, the kind of the event.
fn name_of(change: &Value) -> String {
    match text(change, "subject") {
        "" => text(change, "kind").replace('.', " "),
        name => name.to_owned(),
    }
}

fn event_of(change: &Value) -> i64 {
    change["event"].as_i64().unwrap_or_default()
}

/// Returns whether a change is a request for consent, which an undo denies.
fn is_request(change: &Value) -> bool {
    text(change, "kind") == "consent.request"
}

/// Returns the numbers of the excluded events: those that the user excluded, earlier events of the same second, and
/// open requests that the user did not include. `changes` come from the undo that excludes nothing.
fn out(following: &Following, changes: &[Value]) -> BTreeSet<i64> {
    let is_out = |change: &&Value| {
        let event = event_of(change);
        let is_open = is_request(change) && text(change, "status") == "in";
        event < following.first || following.except.contains(&event) || (is_open && !following.denied.contains(&event))
    };
    changes.iter().filter(is_out).map(event_of).collect()
}

impl Following {
    /// Returns the undo with the event excluded. If the event is excluded already, includes it again.
    fn switched(&self, event: i64, out: &BTreeSet<i64>, change: &Value) -> Self {
        let mut other = self.clone();
        let chosen = if is_request(change) { &mut other.denied } else { &mut other.except };
        match out.contains(&event) == is_request(change) {
            true => chosen.push(event),
            false => chosen.retain(|known| *known != event),
        }
        other
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_without_a_name_is_shown_as_its_kind() {
        assert_eq!(name_of(&json!({ "subject": "", "kind": "finding.accept" })), "finding accept");
        assert_eq!(name_of(&json!({ "subject": "prompt review", "kind": "prompt.update" })), "prompt review");
    }
}
