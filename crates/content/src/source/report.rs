//! Reports what an update or an install of sources did.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::changes::Changes;
use super::contents::Contents;
use super::offer::short;
use super::outdated::Standing;
use super::plan::{Done, Step};
use crate::import::plugins::marketplace::Place;
use crate::skills::MAIN;
use crate::stored::{Item, Stored};
use mcpkg_agents::audit::{self, rules::Severity};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, LISTED_BY_VERBOSE, Reply, Table};
use mcpkg_store::sources::SourceRow;

pub struct Report {
    pub name: String,
    pub result: Result<Updated>,
}

/// The result of updating a source.
#[derive(Default)]
pub struct Updated {
    pub from: Option<String>,
    pub to: Option<String>,
    pub forced: Option<Standing>,
    pub steps: Vec<Step>,
    pub changes: Changes,
    pub plugins: Plugins,
    /// The findings of an audit of the files that changed.
    pub findings: audit::Report,
}

impl Updated {
    /// Returns the result for a source without changes.
    pub fn current(row: &SourceRow) -> Self {
        let commit = row.origin.commit.clone();
        Self { from: commit.clone(), to: commit, ..Self::default() }
    }

    /// Returns the commits before and after, such as `1a2b to 3c4d`.
    pub fn commits(&self) -> String {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) if from != to => format!("{} to {}", short(from), short(to)),
            (_, Some(to)) => short(to).to_owned(),
            _ => String::new(),
        }
    }
}

/// Changes in the marketplace of a source.
#[derive(Default)]
pub struct Plugins {
    /// The plugins that were added to the marketplace.
    new: Vec<String>,
    /// The plugins that were chosen, and are no longer in the marketplace.
    gone: Vec<String>,
    /// What to do about the new plugins.
    hints: Vec<String>,
}

impl Plugins {
    pub fn of(row: &SourceRow, contents: &Contents) -> Self {
        let Some(all) = &contents.marketplace else { return Self::default() };
        let (name, chosen) = (&row.origin.name, &row.origin.choice.plugins);
        let gone = chosen.iter().filter(|chosen| !all.own().any(|own| own == *chosen)).cloned().collect();
        let mut found = Self { gone, ..Self::default() };
        let Some(before) = &row.plugins else { return found };
        let before: BTreeSet<&String> = before.iter().collect();
        for plugin in all.plugins.iter().filter(|plugin| !before.contains(&plugin.name)) {
            let (new, plugin) = (&plugin.name, plugin);
            found.new.push(new.clone());
            let how = match &plugin.place {
                Place::Here { .. } if chosen.is_empty() => continue,
                Place::Here { .. } => format!("mcpkg source update {name} --plugin {new}"),
                Place::Elsewhere(command) => command.clone(),
                Place::Unsupported(_) => continue,
            };
            found.hints.push(format!("the source '{name}' has a new plugin '{new}'; to add it: `{how}`"));
        }
        if found.hints.len() > NAMED {
            let more = found.hints.len() - NAMED;
            found.hints.truncate(NAMED);
            found.hints.push(format!("the source '{name}' has {more} more new plugins, which --json lists"));
        }
        found
    }
}

pub fn reply(reports: &[Report], dry_run: bool) -> Reply {
    let mut rows = Vec::new();
    let mut list = Vec::new();
    let mut details = Vec::new();
    let (mut warnings, mut hints, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed = false;
    for Report { name, result } in reports {
        match result {
            Ok(updated) => {
                let counts = counts(&updated.steps);
                let differs = updated.from != updated.to || !updated.steps.is_empty();
                let state = match (differs, dry_run) {
                    (false, _) => "current",
                    (true, false) => "updated",
                    (true, true) => "would be updated",
                };
                let words: Vec<_> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
                rows.push(vec![name.clone(), state.to_owned(), updated.commits(), words.join(", ")]);
                if dry_run && !updated.changes.is_empty() {
                    bodies.push(updated.changes.body(name, &updated.commits()));
                }
                hints.extend(updated.plugins.hints.iter().cloned());
                warnings.extend(updated.plugins.gone.iter().map(|plugin| {
                    format!(
                        "{name}: the plugin '{plugin}' is no longer in the marketplace, so its files count as deleted"
                    )
                }));
                let lines = updated.steps.iter().filter(|step| !matches!(step.done, Done::Kept));
                details.extend(lines.clone().map(Step::line));
                warnings
                    .extend(lines.clone().filter(|step| is_shown(step)).map(|step| format!("{name}: {}", step.line())));
                let found = updated.findings.lines(Severity::Warning);
                warnings.extend(found.into_iter().map(|line| format!("{name}: {line}")));
                list.push(json!({
                    "name": name,
                    "state": state,
                    "from": updated.from,
                    "to": updated.to,
                    "forced": updated.forced.is_some(),
                    "counts": counts.iter().map(|(word, count)| ((*word).to_owned(), Value::from(*count))).collect::<serde_json::Map<_, _>>(),
                    "items": lines.map(Step::data).collect::<Vec<_>>(),
                    "changes": updated.changes.data(),
                    "programs": updated.changes.programs(),
                    "new_plugins": updated.plugins.new,
                }));
            }
            Err(error) => {
                failed = true;
                rows.push(vec![name.clone(), "failed".to_owned(), String::new(), error.message().to_owned()]);
                let error = json!({ "code": error.code().name(), "message": error.message(), "hints": error.hints() });
                list.push(json!({ "name": name, "state": "failed", "error": error }));
            }
        }
    }
    let columns = &["NAME", "STATE", "COMMITS", "WHAT HAPPENED"];
    let table = Table { columns, rows, empty: "No sources. Add one with `mcpkg source add`".to_owned() };
    let data = json!({ "dry_run": dry_run, "sources": list });
    bodies.push(Body::Table(table));
    let mut reply = Reply { details, failed, hints, ..Reply::new(Body::Several(bodies), data) }.warn(warnings);
    if !dry_run {
        let steps: Vec<&Step> = reports
            .iter()
            .filter_map(|report| report.result.as_ref().ok())
            .flat_map(|updated| &updated.steps)
            .collect();
        reply.hints.extend(deletions(&steps));
        reply.hints.extend(proposed(steps.into_iter()));
    }
    reply
}

/// Returns a hint about the proposals that wait for a person's decision, if there are any.
pub fn proposed<'s>(steps: impl Iterator<Item = &'s Step>) -> Option<String> {
    let proposals = steps.filter(|step| is_proposal(&step.done)).count();
    let count = plural::count(proposals, "proposal");
    (proposals > 0).then(|| format!("{count} to review: `mcpkg evolve list`, then `show`, `accept` or `reject`"))
}

/// The maximum number of deletions that the report lists.
const NAMED: usize = 10;

/// Lists the items that were deleted because the source no longer has them, each with the command that restores it if
/// the item has a history. A skill is listed once, and not once per file.
pub fn deletions(steps: &[&Step]) -> Vec<String> {
    let deleted: Vec<&Stored> =
        steps.iter().filter(|step| matches!(step.done, Done::Deleted)).filter_map(|step| step.ours.as_ref()).collect();
    let skill = |stored: &Stored| {
        let (name, path) = stored.entry.what.in_skill()?;
        Some((name.to_owned(), path == MAIN))
    };
    let skills: BTreeSet<String> =
        deleted.iter().filter_map(|stored| skill(stored)).filter(|(_, main)| *main).map(|(name, _)| name).collect();
    let mut lines: Vec<String> = skills
        .iter()
        .map(|name| format!("skill '{name}' was deleted; `mcpkg skill restore {name}` restores the skill"))
        .collect();
    for stored in deleted {
        if skill(stored).is_some_and(|(name, _)| skills.contains(&name)) {
            continue;
        }
        let (word, name) = (stored.entry.what.word().replace('_', " "), &stored.entry.name);
        let revision = match &stored.item {
            Item::Prompt(prompt) => Some(prompt.revision),
            Item::Resource(resource) => Some(resource.revision),
            Item::AgentFile(_) | Item::Server(_) => None,
        };
        let back = revision
            .map_or(String::new(), |number| format!("; `mcpkg {word} restore {name} {number}` restores the {word}"));
        lines.push(format!("{word} '{name}' was deleted{back}"));
    }
    let more = lines.len().saturating_sub(NAMED);
    if more > 0 {
        lines.truncate(NAMED);
        lines.push(format!("{more} more were deleted{LISTED_BY_VERBOSE}"));
    }
    lines
}

/// Returns whether the step waits for a person's decision.
fn is_proposal(done: &Done) -> bool {
    matches!(done, Done::Proposed(_) | Done::ProposedDelete | Done::Pending)
}

/// Returns whether a step is shown without `-v`.
fn is_shown(step: &Step) -> bool {
    is_proposal(&step.done) || matches!(step.done, Done::NameTaken(_)) || step.moved_from.is_some()
}

pub fn counts(steps: &[Step]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for step in steps {
        if step.moved_from.is_some() && matches!(step.done, Done::Taken | Done::Merged(_)) {
            *counts.entry("moved").or_default() += 1;
        } else if !matches!(step.done, Done::Kept) {
            *counts.entry(step.done.word()).or_default() += 1;
        }
    }
    counts
}
