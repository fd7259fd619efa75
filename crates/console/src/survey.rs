//! The survey of this machine. It finds deployed files to update, a synced folder that differs, problems that `mcpkg
//! doctor` finds, and critical audit findings.
//!
//! A survey takes longer than reading the database, so the console runs it in a separate thread: when the inbox opens
//! and, for the deployed files, also after each commit.

use std::collections::BTreeMap;

use serde_json::Value;

use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{count, number, rows, text};
use crate::deploy;
use crate::place::Place;
use crate::reply;
use crate::screen::{Line, List, Row, Screen, Span, Tone};
use crate::waiting::{Waiting, collect, commands};

/// The items that a survey found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    files: Vec<Waiting>,
    others: Vec<Waiting>,
    problems_of_files: Vec<String>,
    other_problems: Vec<String>,
}

impl Survey {
    /// Surveys the deployed files, the synced folder, the problems that `mcpkg doctor` finds, and the critical audit
    /// findings in the project.
    pub fn new(context: &Context) -> Self {
        let (files, problems_of_files) = collect(context, &[files]);
        let (others, other_problems) = collect(context, &[sync, checks, findings]);
        Self { files, others, problems_of_files, other_problems }
    }

    /// Surveys only the deployed files again, after a commit that may have changed what to deploy.
    #[must_use]
    pub fn of_files(self, context: &Context) -> Self {
        let (files, problems_of_files) = collect(context, &[files]);
        Self { files, problems_of_files, ..self }
    }

    /// Returns a message for each source that could not be read.
    pub fn problems(&self) -> impl Iterator<Item = &String> {
        self.problems_of_files.iter().chain(&self.other_problems)
    }

    pub fn items(&self) -> impl Iterator<Item = &Waiting> {
        self.files.iter().chain(&self.others)
    }
}

/// Returns whether there is a folder to deploy to: mcpkg finds one by itself, or an earlier deploy used the current
/// folder.
fn can_deploy(context: &Context, snapshots: &[Value]) -> bool {
    let root = context.store.read(|db| context.domains.deploy_root(db, &context.selection));
    matches!(root, Ok(Some(_))) || snapshots.iter().any(|found| text(found, "root") == context.selection.directory)
}

/// Returns an item for each file that is changed on disk, and one for all files that a deploy would change.
fn files(context: &Context) -> Result<Vec<Waiting>> {
    // Before the first deploy, or without a folder to deploy to, no file can be out of date.
    let deployed = Invocation::new("snapshot list").read(context);
    let snapshots = deployed.as_ref().map_or(&[][..], |data| rows(data, "snapshots"));
    if deployed.is_ok() && snapshots.is_empty() || !can_deploy(context, snapshots) {
        return Ok(Vec::new());
    }
    let changes = deploy::changes(context)?;
    let commands = || [Invocation::new("status"), Invocation::new("deploy").flag("--apply")];
    let mut items: Vec<Waiting> = changes
        .iter()
        .filter(|change| change.is_changed_on_disk)
        .map(|change| {
            let what = format!("{}: {}", change.shown, change.state_on_disk());
            let look = Place::File(change.path.clone());
            Waiting { id: format!("drift {}", change.path), ..Waiting::here("drift", "disk", what, look, commands()) }
        })
        .collect();
    if !changes.is_empty() {
        let files = count(changes.len() as u64, "file");
        let what = format!("{files}: {}", deploy::counted(&changes));
        let behind = Waiting::here("behind", "project", what, Place::Deploy, commands());
        items.push(Waiting { id: "behind".to_owned(), ..behind });
    }
    Ok(items)
}

/// Returns an item if the folder of the last sync differs from the project.
fn sync(context: &Context) -> Result<Vec<Waiting>> {
    let data = match Invocation::new("sync").preview(context) {
        Ok(found) => found.into_value(),
        // The project was never synced, or not by this user, or another sync is running.
        Err(error) if matches!(error.code(), Code::InvalidArgument | Code::Unapproved | Code::Busy) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let (folder, items) = (text(&data, "folder"), rows(&data, "items"));
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let of = |action: &str| items.iter().filter(|item| text(item, "action") == action).count();
    let conflicts = match of("propose") + of("skipped") {
        0 => String::new(),
        conflicts => format!(", {}", count(conflicts as u64, "conflict")),
    };
    let what = format!("{folder} differs in {}{conflicts}", count(items.len() as u64, "item"));
    let commands = [Invocation::new("sync").flag("--dry-run"), Invocation::new("sync")];
    let item = Waiting::here("sync", "folder", what, Place::Sync, commands);
    Ok(vec![Waiting { id: format!("sync {folder}"), actions: vec![run_sync(folder)], ..item }])
}

fn run_sync(folder: &str) -> Action {
    let question = format!("Sync the project with {folder}? Conflicts become proposals.");
    Action::call('s', "sync", Invocation::new("sync").asking(question))
}

/// Returns the problems that `mcpkg doctor` finds.
fn checks(context: &Context) -> Result<Vec<Waiting>> {
    let data = Invocation::new("doctor").read(context)?;
    let item = |found: &Value| {
        let what = format!("{}: {}", text(found, "area"), text(found, "what"));
        let look = Place::List("doctor".to_owned());
        let item = Waiting::here("check", "doctor", what, look, [Invocation::new("doctor"), Invocation::new("doctor")]);
        Waiting { commands: commands(&item.actions), ..item }
    };
    Ok(rows(&data, "checks").iter().filter(|found| text(found, "state") == "problem").map(item).collect())
}

/// Returns an item for each rule with critical audit findings in the project.
fn findings(context: &Context) -> Result<Vec<Waiting>> {
    let project = context.read(|_, project| Ok(project.name.clone()))?;
    let data = audit(&project).read(context)?;
    // A file or a source may have the same name as the project. `audit` then reads that file or source instead.
    if data["audited"]["project"].is_null() {
        return Ok(Vec::new());
    }
    let mut rules: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for found in rows(&data, "findings").iter().filter(|found| text(found, "severity") == "critical") {
        rules.entry(text(found, "rule")).or_default().push(found);
    }
    let item = |(rule, found): (&str, Vec<&Value>)| {
        let what = format!("{} of `{rule}`: {}", count(found.len() as u64, "critical finding"), subject(found[0]).0);
        let look = Place::Audit(project.clone());
        let item = Waiting::here("finding", "audit", what, look, [audit(&project), ignore(rule, &project)]);
        Waiting { id: format!("finding {rule}"), actions: vec![mark_harmless(rule, &project)], ..item }
    };
    Ok(rules.into_iter().map(item).collect())
}

fn audit(project: &str) -> Invocation {
    Invocation::new("audit").with(project)
}

/// The label of the key that makes `mcpkg finding ignore` mark what a rule finds.
pub const HARMLESS: &str = "mark as harmless";

fn ignore(rule: &str, project: &str) -> Invocation {
    Invocation::new("finding ignore").with(rule).with(project)
}

fn mark_harmless(rule: &str, project: &str) -> Action {
    let question = format!("Mark what `{rule}` finds in project '{project}' as harmless?");
    Action::call('a', HARMLESS, ignore(rule, project).asking(question))
}

/// Returns the name of what a finding is about, and its screen. A text of the database is named as its item, because the
/// file of that path may be clean.
fn subject(found: &Value) -> (String, Option<Place>) {
    let item = |kind| found["item"][kind].as_str();
    match (item("prompt"), item("resource"), item("server"), item("agent_file")) {
        (Some(name), ..) => (format!("prompt {name}"), Some(Place::Prompt(name.to_owned()))),
        (_, Some(uri), ..) => (uri.to_owned(), Some(Place::Resource(uri.to_owned()))),
        (_, _, Some(name), _) => (format!("MCP server {name}"), None),
        (_, _, _, Some(path)) => (format!("file {path} of an agent"), None),
        _ => (text(found, "path").to_owned(), None),
    }
}

/// Lists the audit findings of a project by rule, the most serious first. Each leads to its item.
pub fn audited(context: &Context, project: &str) -> Result<Screen> {
    let data = audit(project).read(context)?;
    let mut rules: BTreeMap<(usize, &str), Vec<&Value>> = BTreeMap::new();
    for found in rows(&data, "findings") {
        let rank = SEVERITIES.iter().position(|known| *known == text(found, "severity"));
        rules.entry((rank.unwrap_or(SEVERITIES.len()), text(found, "rule"))).or_default().push(found);
    }
    let mut list = Vec::new();
    for ((_, rule), all) in rules {
        let (severity, what) = (text(all[0], "severity"), text(all[0], "what"));
        list.push(Row::heading(&format!("{severity} {rule}: {what}")));
        list.extend(all.into_iter().map(|found| {
            let (name, look) = subject(found);
            let place = match found["line"].as_u64() {
                Some(line) => format!("{line}:{}", number(found, "column")),
                None => String::new(),
            };
            Row {
                id: format!("{rule} {name} {place}"),
                cells: vec![Span::new(Tone::Name, &name), Span::plain(&place), Span::plain(text(found, "text"))],
                look,
                actions: vec![mark_harmless(rule, project)],
                is_heading: false,
            }
        }));
    }
    let list = List {
        columns: &["WHAT", "LINE", "TEXT"],
        rows: list,
        empty: "The audit finds nothing in the project's texts.",
        ..List::default()
    };
    Ok(Screen::list(format!("Inbox > audit of {project}"), list))
}

/// The severities of audit findings, the most serious first.
const SEVERITIES: [&str; 3] = ["critical", "warning", "note"];

/// Shows what a sync would do.
pub fn screen(context: &Context) -> Result<Screen> {
    let found = Invocation::new("sync").preview(context)?;
    let folder = text(&found.data, "folder").to_owned();
    let mut lines = vec![Line::plain("Folder ").then(Tone::Name, &folder), Line::blank()];
    lines.extend(reply::lines(&found, context.asked_in));
    Ok(Screen::text("Inbox > sync with a folder", lines).with([run_sync(&folder)]))
}
