//! `mcpkg source update`: merges the changes in a source with the changes made in the project.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::approval::Fetch;
use super::contents::{self, Contents};
use super::mirror::Mirror;
use super::offer::short;
use super::outdated::{Standing, standing};
use super::plan::{self, Done, Extent, Step};
use super::reference::shown;
use super::tree::{Change, Entry};
use super::{apply, changed};
use crate::GROUP;
use crate::completions::SOURCES;
use crate::skills::MAIN;
use crate::stored::{Item, Stored};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::{Body, Context, Effect, Faces, LISTED_BY_VERBOSE, NoOutput, Operation, Reply, Table};
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::sources::{self, SourceRow};

/// Update sources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Name of the source [default: all]
    #[arg(add = SOURCES)]
    name: Option<String>,
    /// Show what would change, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Accept a source even if its history was rewritten or its tag was moved
    #[arg(long)]
    #[serde(default)]
    force: bool,
}

impl Operation for Update {
    const TOOL: &'static str = "update_sources";
    const CLI: &'static [&'static str] = &["source", "update"];
    const TITLE: &'static str = "Update sources";
    const ABOUT: &'static str = "Merge changes in the sources with your changes in the project";
    const HELP: &'static str = "For each file, mcpkg merges three versions: the source's version at the last update, \
        the source's current version, and the project's version. If both sides changed the same lines, or if one side \
        deleted what the other side changed, the project keeps its version, and the source's version becomes a \
        proposal. To decide on proposals, use `mcpkg evolve list`, `show`, `accept` and `reject`. If a skill was \
        renamed in the source, mcpkg renames the skill in the project too. mcpkg updates each source completely or not \
        at all. If mcpkg cannot reach a source, it reports the source, updates the other sources, and exits with \
        status 1.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg source update --dry-run", "mcpkg source update skills", "mcpkg source update skills --force"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let rows = context.read(|db, project| match &self.name {
            Some(name) => Ok(vec![sources::get(db, project, name)?]),
            None => sources::list(db, project.id),
        })?;
        if !self.dry_run {
            // Let the store prepare for writing while git fetches.
            context.store.expect_write();
        }
        let mut reports = Vec::new();
        for row in &rows {
            let name = row.origin.name.clone();
            match self.one(row, context) {
                Ok(report) => reports.push(report),
                Err(error) if self.name.is_some() || error.code() == Code::Cancelled => return Err(error),
                Err(error) => reports.push(Report { name, result: Err(error) }),
            }
        }
        Ok(reply(&reports, self.dry_run))
    }
}

struct Report {
    name: String,
    result: Result<Updated>,
}

/// The result of updating a source.
struct Updated {
    from: Option<String>,
    to: Option<String>,
    forced: Option<Standing>,
    steps: Vec<Step>,
}

/// The new version of a source that changed since it was last read.
struct News {
    contents: Contents,
    extent: Extent,
    forced: Option<Standing>,
}

impl Update {
    fn one(&self, row: &SourceRow, context: &Context) -> Result<Report> {
        let name = row.origin.name.clone();
        Fetch(&row.origin).require(context)?;
        let from = row.origin.commit.clone();
        let Some(News { contents, extent, forced }) = self.news(row, context)? else {
            let updated = Updated { from: from.clone(), to: from, forced: None, steps: Vec::new() };
            return Ok(Report { name, result: Ok(updated) });
        };
        let steps = if self.dry_run {
            context.read(|db, project| plan::plan(db, project, &unchanged(db, project, row)?, &contents, extent))?
        } else {
            context.write("source.update", &name, |db, project, author| {
                let row = unchanged(db, project, row)?;
                apply::apply(db, author, project, &row, &contents, extent, context)
            })?
        };
        let updated = Updated { from, to: contents.commit.clone(), forced, steps };
        Ok(Report { name, result: Ok(updated) })
    }

    /// Reads the new version of a source; `None` if nothing changed.
    fn news(&self, row: &SourceRow, context: &Context) -> Result<Option<News>> {
        let origin = &row.origin;
        let Some(commit) = &origin.commit else {
            let contents = contents::of_folder(origin, context)?;
            let is_same = contents.digest() == origin.digest;
            return Ok((!is_same).then_some(News { contents, extent: Extent::Whole, forced: None }));
        };
        let Some(reference) = &origin.reference else { return Ok(None) };
        let mirror = Mirror::open(&origin.url, context)?;
        let (now, follows) = mirror.fetch_after(reference, commit)?;
        let standing = standing(&mirror, reference, commit, (&now, follows))?;
        let forced = match standing {
            Standing::Current => return Ok(None),
            Standing::Newer => None,
            Standing::Rewritten | Standing::Moved if self.force => Some(standing),
            Standing::Rewritten | Standing::Moved => return Err(refused(row, reference, &now, standing)),
        };
        if let Some(changes) = mirror.changes(commit, &now, &origin.path)?
            && let Some(entries) = alone(row, &changes, context)?
        {
            let all = mirror.listed_as(commit, &now, &origin.path)?;
            let is_shared =
                all.iter().any(|entry| entry.is_link) && context.store.read(|db| sources::has_shared(db, row.id))?;
            if !is_shared && let Some(contents) = contents::some(&mirror, origin, &now, (&entries, &all))? {
                return Ok(Some(News { contents, extent: Extent::Changed, forced }));
            }
        }
        let contents = contents::at(&mirror, origin, &now, context)?;
        Ok(Some(News { contents, extent: Extent::Whole, forced }))
    }
}

/// Returns the changed files if they can be updated without reading the rest of the source: each was read before, is not
/// shared with another path, and differs only in its bytes.
fn alone(row: &SourceRow, changes: &[Change], context: &Context) -> Result<Option<Vec<Entry>>> {
    context.store.read(|db| {
        let mut entries = Vec::new();
        for change in changes {
            let (Some(mode), true) = (change.new.filter(|mode| mode.is_file()), change.old == change.new) else {
                return Ok(None);
            };
            match sources::item(db, row.id, &change.path)? {
                Some(item) if !item.shared => {}
                _ => return Ok(None),
            }
            entries.push(Entry { mode, object: change.object.clone(), path: change.path.clone() });
        }
        Ok(Some(entries))
    })
}

/// Returns the current row of a source. Fails if the source was changed since `row` was read.
pub(super) fn unchanged(db: &Db<'_>, project: &Project, row: &SourceRow) -> Result<SourceRow> {
    let now = sources::get(db, project, &row.origin.name)?;
    if now.id == row.id && now.origin == row.origin {
        return Ok(now);
    }
    let why = format!("The source '{}' changed during the update; nothing was written", row.origin.name);
    Err(Error::new(Code::PlanChanged, why).hint("try again"))
}

fn refused(row: &SourceRow, reference: &str, now: &str, standing: Standing) -> Error {
    let (name, reference) = (&row.origin.name, shown(reference));
    let was = row.origin.commit.as_deref().map_or("", short);
    let why = match standing {
        Standing::Moved => {
            format!("In source '{name}', {reference} was moved from {was} to {}; nothing was written", short(now))
        }
        _ => format!(
            "In source '{name}', the history of {reference} was rewritten: {} is not based on {was}; nothing was \
                written",
            short(now)
        ),
    };
    changed(why).with_details(json!({ "source": name, "commit": row.origin.commit, "now": now })).hint(
        "ask the source's maintainers why; to merge the source's current state like any other change, pass `--force`",
    )
}

fn reply(reports: &[Report], dry_run: bool) -> Reply {
    let mut rows = Vec::new();
    let mut list = Vec::new();
    let mut details = Vec::new();
    let mut warnings = Vec::new();
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
                let commits = match (&updated.from, &updated.to) {
                    (Some(from), Some(to)) if from != to => format!("{} to {}", short(from), short(to)),
                    (_, Some(to)) => short(to).to_owned(),
                    _ => String::new(),
                };
                rows.push(vec![name.clone(), state.to_owned(), commits, words.join(", ")]);
                let lines = updated.steps.iter().filter(|step| !matches!(step.done, Done::Kept));
                details.extend(lines.clone().map(Step::line));
                warnings
                    .extend(lines.clone().filter(|step| is_shown(step)).map(|step| format!("{name}: {}", step.line())));
                list.push(json!({
                    "name": name,
                    "state": state,
                    "from": updated.from,
                    "to": updated.to,
                    "forced": updated.forced.is_some(),
                    "counts": counts.iter().map(|(word, count)| ((*word).to_owned(), Value::from(*count))).collect::<serde_json::Map<_, _>>(),
                    "items": lines.map(Step::data).collect::<Vec<_>>(),
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
    let mut reply = Reply { details, failed, ..Reply::new(Body::Table(table), data) }.warn(warnings);
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
pub(super) fn proposed<'s>(steps: impl Iterator<Item = &'s Step>) -> Option<String> {
    let proposals = steps.filter(|step| is_proposal(&step.done)).count();
    let count = plural::count(proposals, "proposal");
    (proposals > 0).then(|| format!("{count} to review: `mcpkg evolve list`, then `show`, `accept` or `reject`"))
}

/// The maximum number of deletions that the report lists.
const NAMED: usize = 10;

/// Lists the items that were deleted because the source no longer has them, each with the command that restores it if
/// the item has a history. A skill is listed once, and not once per file.
pub(super) fn deletions(steps: &[&Step]) -> Vec<String> {
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

pub(super) fn counts(steps: &[Step]) -> BTreeMap<&'static str, usize> {
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
