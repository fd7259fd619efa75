//! The screens for a planned deploy, for changes found in deployed files, and for earlier deploys.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{count, rows, text, texts, time};
use crate::diff;
use crate::place::{Choice, Place};
use crate::screen::{Line, List, Row, Screen, Span, Tone};
use crate::time::until;

/// A file that a deploy would write or delete.
pub struct Change {
    pub path: String,
    /// The path below the deploy root.
    pub shown: String,
    pub op: String,
    reason: String,
    agents: String,
    /// Whether the file on disk differs from what mcpkg wrote. A deploy replaces such a file only with `--adopt`.
    pub is_changed_on_disk: bool,
    unified: String,
}

/// Returns what a deploy would change.
pub fn changes(context: &Context) -> Result<Vec<Change>> {
    let data = Invocation::new("diff").read(context)?;
    let status = Invocation::new("status").read(context)?;
    let changed = |path: &str| {
        let state = rows(&status, "drift").iter().find(|file| text(file, "path") == path);
        state.is_some_and(|file| matches!(text(file, "state"), "user_modified" | "both" | "unmanaged"))
    };
    let change = |found: &Value| {
        let path = text(found, "path");
        let unified = text(found, "unified");
        let name = |line: &str| line.strip_prefix("+++ b/").or(line.strip_prefix("--- a/")).map(str::to_owned);
        Change {
            path: path.to_owned(),
            shown: unified.lines().take(2).find_map(name).unwrap_or_else(|| path.to_owned()),
            op: text(found, "op").to_owned(),
            reason: text(found, "reason").to_owned(),
            agents: texts(found, "targets").join(", "),
            is_changed_on_disk: text(found, "update_kind") == "adopt_update" || changed(path),
            unified: unified.to_owned(),
        }
    };
    Ok(rows(&data, "changes").iter().map(change).collect())
}

fn counted(changes: &[Change]) -> String {
    let of = |op: &str| changes.iter().filter(|change| change.op == op).count();
    format!("{} create, {} update, {} delete", of("create"), of("update"), of("delete"))
}

pub fn screen(context: &Context, choice: &Choice) -> Result<Screen> {
    let changes = changes(context)?;
    let is_in = |change: &Change| match change.is_changed_on_disk {
        true => choice.adopted.contains(&change.path),
        false => !choice.out.contains(&change.path),
    };
    let (chosen, left): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|change| is_in(change));
    let title = match (changes.is_empty(), left.len()) {
        (true, _) => "Deploy: every agent's files are current".to_owned(),
        (false, 0) => format!("Deploy: {}", counted(&changes)),
        (false, out) => format!("Deploy: {}; {} out", counted(&changes), count(out as u64, "file")),
    };
    let row = |change: &Change| {
        let (sign, tone) = match change.op.as_str() {
            "create" => ("+", Tone::Good),
            "delete" => ("-", Tone::Bad),
            _ => ("~", Tone::Warning),
        };
        let why = if change.is_changed_on_disk { "changed on disk since" } else { &change.reason };
        Row {
            id: change.path.clone(),
            cells: vec![
                if is_in(change) { Span::plain("in") } else { Span::new(Tone::Warning, "out") },
                Span::new(tone, if change.is_changed_on_disk { "!" } else { sign }),
                Span::plain(&change.shown),
                Span::new(Tone::Name, &change.agents),
                Span::new(Tone::Dim, why),
            ],
            look: Some(Place::File(change.path.clone())),
            actions: vec![Action::switch(Place::Chosen(choice.with(change)))],
            is_heading: false,
        }
    };
    let list = List {
        columns: &["", "", "FILE", "AGENTS", "WHY"],
        rows: changes.iter().map(row).collect(),
        empty: "Nothing to deploy. b shows earlier deploys.",
        is_narrow: false,
    };
    let mut apply = Invocation::new("deploy").flag("--apply");
    if !left.is_empty() {
        apply = apply.options("--only", chosen.iter().map(|change| &change.path));
    }
    apply = apply.options("--adopt", &choice.adopted);
    let mut actions = Vec::new();
    if !chosen.is_empty() {
        actions.push(Action::call('a', "apply", apply));
    }
    if changes.iter().any(|change| change.is_changed_on_disk) {
        let find = Invocation::new("evolve propose").asking("Record the changes on disk as proposals?");
        actions.push(Action::call('f', "find changes", find));
    }
    actions.push(Action::open('b', "bring back", Place::Snapshots));
    Ok(Screen::list(title, list).with(actions))
}

impl Choice {
    /// Returns the choice with one file toggled. A file that was changed on disk is adopted or skipped; any other file
    /// is included or excluded.
    fn with(&self, change: &Change) -> Self {
        let mut choice = self.clone();
        let list = if change.is_changed_on_disk { &mut choice.adopted } else { &mut choice.out };
        match list.iter().position(|path| *path == change.path) {
            Some(at) => drop(list.remove(at)),
            None => list.push(change.path.clone()),
        }
        choice
    }
}

/// Shows what a deploy would change in one file.
pub fn file(context: &Context, path: &str) -> Result<Screen> {
    let changes = changes(context)?;
    let Some(change) = changes.iter().find(|change| change.path == path) else {
        return Ok(Screen::text("Deploy > file", vec![Line::plain("The file is current.")]));
    };
    let mut lines = Vec::new();
    if change.is_changed_on_disk {
        lines.push(
            Line::of(Tone::Warning, "WARNING ")
                .then(Tone::Plain, "the file was changed on disk since it was deployed; a deploy leaves it as it is"),
        );
    }
    lines.extend(diff::lines(&change.unified));
    Ok(Screen::text(format!("Deploy > {}", change.shown), lines))
}

/// Shows a change that was found in a deployed file.
pub fn proposal(context: &Context, id: &str) -> Result<Screen> {
    let data = Invocation::new("evolve show").with(id).read(context)?;
    let mut lines = vec![
        Line::of(Tone::Name, text(&data, "module_id")).then(Tone::Plain, "  ").then(Tone::Dim, text(&data, "path")),
        Line::blank(),
    ];
    lines.extend(diff::lines(text(&data, "unified")));
    let actions = if text(&data, "state") == "open" { proposal_actions(id) } else { Vec::new() };
    Ok(Screen::text(format!("Inbox > change of {}", text(&data, "module_id")), lines).with(actions))
}

pub fn proposal_actions(id: &str) -> Vec<Action> {
    let accept = Invocation::new("evolve accept").with(id).asking(format!("Accept change {id} into the project?"));
    vec![
        Action::call('a', "accept", accept),
        Action::call('d', "reject", Invocation::new("evolve reject").with(id)),
        Action::note(),
    ]
}

/// Lists the deploys that a rollback can restore.
pub fn snapshots(context: &Context) -> Result<Screen> {
    let data = Invocation::new("snapshot list").read(context)?;
    let now = context.clock.now();
    let row = |found: &Value| {
        let id = text(found, "id");
        let back = Invocation::new("rollback").option("--to", id);
        Row {
            id: id.to_owned(),
            cells: vec![
                Span::new(Tone::Dim, &time(found, "created_at").map(|at| until(at, now)).unwrap_or_default()),
                Span::plain(text(found, "kind")),
                Span::plain(&count(found["files"].as_u64().unwrap_or_default(), "file")),
                Span::plain(text(found, "state")),
                Span::new(Tone::Name, text(found, "actor")),
            ],
            look: Some(Place::Shown("snapshot".to_owned(), id.to_owned())),
            actions: vec![Action::call('b', "bring back", back)],
            is_heading: false,
        }
    };
    let mut list: Vec<Row> = rows(&data, "snapshots").iter().map(row).collect();
    if !list.is_empty() {
        let pristine = Invocation::new("rollback").option("--to", "pristine").destroying("pristine");
        list.push(Row {
            id: "pristine".to_owned(),
            cells: vec![Span::plain(""), Span::new(Tone::Bad, "pristine"), Span::plain("before the first deploy")],
            actions: vec![Action::call('b', "bring back", pristine)],
            ..Row::default()
        });
    }
    let list = List {
        columns: &["AT", "KIND", "FILES", "STATE", "BY"],
        rows: list,
        empty: "No deploys yet. `a` on the deploy screen makes the first one.",
        is_narrow: true,
    };
    Ok(Screen::list("Deploy > earlier deploys", list))
}
