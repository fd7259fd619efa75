//! The screens of a planned deploy: the files that it changes, as a list or grouped by agent or module, and what each
//! agent loads in a session.

use std::path::Path;

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_base::file;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{count, rows, text, texts};
use crate::diff;
use crate::place::{Choice, Place};
use crate::reviewed::is_reviewed;
use crate::screen::{Line, List, Row, Screen, Span, Tone};
use crate::sessions;

/// A file that a deploy would write or delete. Some need `--adopt` (see [`Change::is_changed_on_disk`]).
pub struct Change {
    pub path: String,
    /// The path below the deploy root; the full path if the change has no text diff.
    pub shown: String,
    pub op: String,
    reason: String,
    pub agents: Vec<String>,
    pub modules: Vec<String>,
    /// Whether the file on disk is not what mcpkg wrote there: somebody changed it, or mcpkg never wrote it. A deploy
    /// replaces such a file only with `--adopt`.
    pub is_changed_on_disk: bool,
    /// Whether mcpkg never wrote the file on disk.
    pub is_foreign: bool,
    unified: String,
    /// The deployed text, the text on disk and the project's text, if the file was changed both on disk and in the
    /// project.
    three: Option<[String; 3]>,
}

/// Returns the files that a deploy would change, from `mcpkg diff`.
pub fn changes(context: &Context) -> Result<Vec<Change>> {
    let data = Invocation::new("diff").read(context)?;
    let change = |found: &Value| {
        let names = |field| texts(found, field).into_iter().map(str::to_owned).collect();
        let path = text(found, "path");
        let unified = text(found, "unified");
        let name = |line: &str| line.strip_prefix("+++ b/").or(line.strip_prefix("--- a/")).map(str::to_owned);
        Change {
            path: path.to_owned(),
            shown: unified.lines().take(2).find_map(name).unwrap_or_else(|| path.to_owned()),
            op: text(found, "op").to_owned(),
            reason: text(found, "reason").to_owned(),
            agents: names("targets"),
            modules: names("module_ids"),
            is_changed_on_disk: text(found, "update_kind") == "adopt_update" || found["drifted"] == true,
            is_foreign: text(found, "update_kind") == "adopt_update" && found["drifted"] != true,
            unified: unified.to_owned(),
            three: found["three_texts"]
                .is_object()
                .then(|| ["deployed", "on_disk", "project"].map(|side| text(&found["three_texts"], side).to_owned())),
        }
    };
    Ok(rows(&data, "changes").iter().map(change).collect())
}

pub fn counted(changes: &[Change]) -> String {
    let of = |op: &str| changes.iter().filter(|change| change.op == op).count();
    format!("{} create, {} update, {} delete", of("create"), of("update"), of("delete"))
}

/// The ways to group the files: not at all, by the agents that read them, or by the modules that they are made from.
const VIEWS: &[&str] = &["by file", "by agent", "by module"];

pub fn screen(context: &Context, choice: &Choice, view: usize) -> Result<Screen> {
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
    let diffs: Vec<&str> =
        changes.iter().map(|change| change.unified.as_str()).filter(|text| !text.is_empty()).collect();
    let reviewed = diffs.iter().filter(|text| is_reviewed(context, text)).count();
    let title = match diffs.len() {
        0 => title,
        total => format!("{title}; {reviewed} of {total} reviewed"),
    };
    let row = |group: &str, change: &Change| {
        let (sign, tone) = match change.op.as_str() {
            "create" => ("+", Tone::Good),
            "delete" => ("-", Tone::Bad),
            _ => ("~", Tone::Warning),
        };
        let why = match (change.is_foreign, &change.three) {
            _ if !change.is_changed_on_disk => change.reason.as_str(),
            (true, _) => "not written by mcpkg",
            (false, Some(_)) => "changed on both sides",
            (false, None) => "changed on disk since",
        };
        Row {
            id: format!("{group} {}", change.path),
            cells: vec![
                if is_in(change) { Span::plain("in") } else { Span::new(Tone::Warning, "out") },
                Span::new(tone, if change.is_changed_on_disk { "!" } else { sign }),
                Span::plain(&change.shown),
                Span::new(Tone::Name, &change.agents.join(", ")),
                Span::new(Tone::Dim, why),
            ],
            look: Some(Place::File(change.path.clone())),
            actions: vec![Action::switch(is_in(change), Place::Chosen(choice.with(change)))],
            is_heading: false,
        }
    };
    let names: fn(&Change) -> &[String] = match VIEWS[view % VIEWS.len()] {
        "by agent" => |change| &change.agents,
        "by module" => |change| &change.modules,
        _ => |_| &[],
    };
    let mut groups: Vec<&str> = changes.iter().flat_map(names).map(String::as_str).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut list: Vec<Row> = Vec::new();
    for group in &groups {
        list.push(Row::heading(group));
        list.extend(
            changes
                .iter()
                .filter(|change| names(change).iter().any(|name| name == group))
                .map(|change| row(group, change)),
        );
    }
    // All files in the view `by file`; otherwise the files that belong to no group.
    list.extend(changes.iter().filter(|change| names(change).is_empty()).map(|change| row("", change)));
    list.extend(sessions::rows(context)?);
    let list = List {
        columns: &["", "", "FILE", "AGENTS", "WHY"],
        rows: list,
        empty: "Nothing to deploy. Earlier deploys can be brought back.",
        is_narrow: false,
        ..List::default()
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
    Ok(Screen::list(title, list).with(actions).views(VIEWS))
}

/// Says what to do in a folder into which mcpkg does not deploy.
pub fn nowhere() -> Screen {
    let lines = vec![
        Line::plain(
            "Nothing is deployed into this folder: it is your home folder, a folder above it, or an agent's own folder.",
        ),
        Line::blank(),
        Line::plain("Start the console in the folder of your project")
            .then_keys(" (q leaves it here)")
            .then(Tone::Plain, ":"),
        Line::plain("  cd FOLDER && mcpkg console"),
        Line::plain("To deploy from anywhere, bind the project to its folder once:"),
        Line::plain("  cd FOLDER && mcpkg project select NAME --here"),
    ];
    Screen::text("Deploy: not in this folder", lines)
}

impl Change {
    /// Describes the state of the file on disk, for a file that a deploy leaves unchanged unless it is adopted.
    pub fn state_on_disk(&self) -> &'static str {
        match (self.is_foreign, &self.three) {
            (true, _) => "you or another program wrote this file",
            (false, Some(_)) => "changed on disk and in the project since it was deployed",
            (false, None) => "changed on disk since it was deployed",
        }
    }
}

impl Choice {
    /// Includes the file in the choice, or excludes it if it is included already. For a file that is changed on disk,
    /// this adds or removes its path in `adopted`; for any other file, in `out`.
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
    let title = diff::titled(format!("Deploy > {}", change.shown), is_reviewed(context, &change.unified));
    let subject = if change.is_foreign { "" } else { "the file was " };
    let warning = format!("{subject}{}; a deploy does not change it", change.state_on_disk());
    let lines = match change.is_changed_on_disk {
        true => vec![Line::of(Tone::Warning, "WARNING ").then(Tone::Plain, &warning)],
        false => Vec::new(),
    };
    let actions = actions(context, change);
    if let Some([deployed, disk, project]) = &change.three {
        let sides = ["deployed", "on disk", "project"].map(str::to_owned);
        let how = "Taking the project's text replaces the file, and its text is kept for a rollback. To keep what the file \
                   says, edit the project's text first.";
        let lines = lines.into_iter().chain([Line::plain(how)]).collect();
        let diff = diff::three(deployed, disk, project, sides).under(lines);
        return Ok(Screen::diff(title, diff).with(diff::review(&change.unified)).with(actions));
    }
    let diff = diff::parse(&change.unified).named(["on disk", "project"]).under(lines);
    let diff = match file::read_text(Path::new(path), file::TEXT) {
        Ok(text) if change.op == "update" => diff.with_text(&text, 0),
        _ => diff,
    };
    Ok(Screen::diff(title, diff).with(diff::review(&change.unified)).with(actions))
}

/// The labels of the keys for a file that a deploy changes only if it is adopted.
pub const TAKE_PROJECT: &str = "take the project's text";
pub const DELETE_FILE: &str = "delete the file";
pub const PROPOSE_FILE: &str = "propose the file's text";

/// Returns the actions for a file that was changed on disk, or that mcpkg did not write; none for other files.
fn actions(context: &Context, change: &Change) -> Vec<Action> {
    if !change.is_changed_on_disk {
        return Vec::new();
    }
    let take = Invocation::new("deploy").flag("--apply").option("--only", &change.path);
    let label = if change.op == "delete" { DELETE_FILE } else { TAKE_PROJECT };
    let mut actions = vec![Action::call('o', label, take.option("--adopt", &change.path))];
    let [module] = &change.modules[..] else { return actions };
    if !change.is_foreign && change.three.is_none() && change.op == "update" {
        let propose = Invocation::new("evolve propose").option("--module-id", module);
        let question = format!("Record the changes to {module} on disk as proposals?");
        actions.push(Action::call('p', PROPOSE_FILE, propose.asking(question)));
    }
    actions.extend(item_of(context, module).map(|item| Action::open('e', "edit", item)));
    actions
}

/// Returns the screen of the prompt, skill or resource that a module of the project is made of. Returns `None` if it is
/// none of these.
fn item_of(context: &Context, module: &str) -> Option<Place> {
    let (kind, name) = module.split_once(':')?;
    let has = |words: &str, name: &str| Invocation::new(words).with(name).read(context).is_ok();
    match kind {
        "skill" => has("skill show", name).then(|| Place::Skill(name.to_owned())),
        _ if has("prompt show", name) => Some(Place::Prompt(name.to_owned())),
        _ => {
            let uri = format!("{kind}://{name}");
            has("resource show", &uri).then_some(Place::Resource(uri))
        }
    }
}
