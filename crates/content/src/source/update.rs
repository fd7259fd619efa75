//! `mcpkg source update`: merges the changes in a source with the changes made in the project.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::approval::Fetch;
use super::changes::Changes;
use super::contents::{self, Contents};
use super::mirror::Mirror;
use super::offer::short;
use super::outdated::{Standing, standing};
use super::plan::{self, Extent};
use super::reference::shown;
use super::report::{self, Plugins, Report, Updated};
use super::tree::{Change, Entry};
use super::{apply, changed};
use crate::GROUP;
use crate::audited;
use crate::completions::SOURCES;
use crate::ignored;
use crate::import::plugins::marketplace::Marketplace;
use mcpkg_agents::audit;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::sources::{self, Choice, Origin, SourceRow, Takes};

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
    /// From now on, take this plugin of the source's marketplace too; repeat for several
    #[arg(long, value_name = "NAME", requires = "name")]
    #[serde(default)]
    plugin: Vec<String>,
    /// From now on, take files that no agent reads too, as documents
    #[arg(long, requires = "name")]
    #[serde(default)]
    documents: bool,
}

impl Operation for Update {
    const TOOL: &'static str = "update_sources";
    const CLI: &'static [&'static str] = &["source", "update"];
    const TITLE: &'static str = "Update sources";
    const ABOUT: &'static str = "Merge changes in the sources with your changes in the project";
    const HELP: &'static str = "At a terminal, mcpkg shows which skills, prompts and other items are new, changed or \
        deleted, and asks before it writes anything. For each file, mcpkg merges three versions: the source's version at the last update, \
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
        let asks = !self.dry_run && context.confirmation == Confirmation::Ask;
        if !self.dry_run && !asks {
            // Let the store prepare for writing while git fetches.
            context.store.expect_write();
        }
        let is_fatal = |error: &Error| self.name.is_some() || error.code() == Code::Cancelled;
        let mut all = Vec::new();
        for row in &rows {
            match self.read(row, context) {
                Err(error) if is_fatal(&error) => return Err(error),
                read => all.push((row, read)),
            }
        }
        if asks {
            ask(&all, context)?;
        }
        let mut reports = Vec::new();
        for (row, read) in all {
            let result = match read {
                Ok(Some(news)) if !self.dry_run => news.write(row, context),
                read => read.map(|news| news.map_or_else(|| Updated::current(row), |news| news.updated)),
            };
            match result {
                Err(error) if is_fatal(&error) => return Err(error),
                result => reports.push(Report { name: row.origin.name.clone(), result }),
            }
        }
        let reply = report::reply(&reports, self.dry_run);
        if self.dry_run {
            return Ok(reply);
        }
        let written = reports.iter().filter_map(|report| report.result.as_ref().ok());
        let unrecorded = ignored::accept(written.flat_map(|updated| &updated.findings.findings), context);
        Ok(reply.warn(unrecorded))
    }
}

/// The new version of a source, and what it changes in the project.
struct News {
    contents: Contents,
    extent: Extent,
    /// The options of the source from now on.
    choice: Choice,
    updated: Updated,
}

impl News {
    fn write(self, row: &SourceRow, context: &Context) -> Result<Updated> {
        let Self { contents, extent, choice, updated } = self;
        let steps = context.write("source.update", &row.origin.name, |db, project, author| {
            let row = unchanged(db, project, row)?;
            if choice != row.origin.choice {
                sources::set_choice(db, row.id, &choice)?;
            }
            apply::apply(db, author, project, &row, &contents, extent, context)
        })?;
        Ok(Updated { changes: Changes::of(&steps, &contents), steps, ..updated })
    }
}

/// Shows what the updates change and what an audit found in the changed files, and asks a person. Asks nothing if no
/// item changes and the audit found nothing.
fn ask(all: &[(&SourceRow, Result<Option<News>>)], context: &Context) -> Result<()> {
    let mut bodies = Vec::new();
    let mut count = 0;
    let mut warning = "";
    for (row, read) in all {
        let Ok(Some(News { updated, .. })) = read else { continue };
        let findings = audited::lines(&updated.findings);
        if updated.changes.is_empty() && findings.is_empty() {
            continue;
        }
        count += 1;
        bodies.push(updated.changes.body(&row.origin.name, &updated.commits()));
        if !findings.is_empty() {
            bodies.push(Body::lines(findings));
        }
        if updated.findings.critical().next().is_some() {
            warning = " although an audit found critical things";
        }
    }
    match count {
        0 => Ok(()),
        count => (context.ask)(Body::Several(bodies), &format!("Update {}{warning}?", plural::count(count, "source"))),
    }
}

impl Update {
    /// Reads the new version of a source, and plans its update. Returns `None` if nothing changed.
    fn read(&self, row: &SourceRow, context: &Context) -> Result<Option<News>> {
        Fetch(&row.origin).require(context)?;
        let choice = self.choice(&row.origin)?;
        let origin = Origin { choice, ..row.origin.clone() };
        let Some((contents, extent, forced)) = self.contents(row, &origin, context)? else { return Ok(None) };
        Marketplace::check(contents.marketplace.as_ref(), &self.plugin)?;
        let findings = self.findings(row, &contents, context)?;
        let steps =
            context.read(|db, project| plan::plan(db, project, &unchanged(db, project, row)?, &contents, extent))?;
        let (from, to) = (origin.commit, contents.commit.clone());
        let (changes, plugins) = (Changes::of(&steps, &contents), Plugins::of(row, &contents));
        let updated = Updated { from, to, forced, steps, changes, plugins, findings };
        Ok(Some(News { contents, extent, choice: origin.choice, updated }))
    }

    /// Returns the findings in the files that changed. Unless this is a dry run, fails if some are critical and no
    /// person can be asked.
    fn findings(&self, row: &SourceRow, contents: &Contents, context: &Context) -> Result<audit::Report> {
        if contents.audit.findings.is_empty() {
            return Ok(audit::Report::default());
        }
        let before = context.store.read(|db| sources::items(db, row.id))?;
        let before: HashMap<&str, &[u8; 32]> = before.iter().map(|item| (item.path.as_str(), &item.sha256)).collect();
        let same = contents.items.iter().filter(|taken| before.get(taken.path.as_str()) == Some(&&taken.sha256));
        let same: HashSet<&str> = same.map(|taken| taken.path.as_str()).collect();
        let findings = contents.audit.filtered(|finding| !same.contains(finding.path.as_str()));
        let findings = ignored::without_harmless(findings, context);
        if !self.dry_run {
            let name = &row.origin.name;
            let hint = format!("`mcpkg source update {name} --dry-run` shows what would change");
            audited::refuse(&findings, &format!("The new version of the source '{name}'"), &hint, context)?;
        }
        Ok(findings)
    }

    /// Returns the options of a source, extended by the flags of this command (`--plugin` and `--documents`).
    fn choice(&self, origin: &Origin) -> Result<Choice> {
        let mut choice = origin.choice.clone();
        if self.documents && choice.takes == Takes::Agents {
            choice.takes = Takes::Documents;
        }
        if !self.plugin.is_empty() && choice.plugins.is_empty() {
            let why = format!("The source '{}' takes all its plugins already", origin.name);
            return Err(Error::new(Code::InvalidArgument, why));
        }
        let new = self.plugin.iter().filter(|plugin| !choice.plugins.contains(plugin)).cloned();
        let new: Vec<String> = new.collect();
        choice.plugins.extend(new);
        Ok(choice)
    }

    /// Reads the new version of a source; `None` if nothing changed. `origin` contains the options that select the
    /// files to read.
    fn contents(
        &self,
        row: &SourceRow,
        origin: &Origin,
        context: &Context,
    ) -> Result<Option<(Contents, Extent, Option<Standing>)>> {
        let is_same_choice = origin.choice == row.origin.choice;
        let Some(commit) = &origin.commit else {
            let contents = contents::of_folder(origin, context)?;
            let is_same = is_same_choice && contents.digest() == origin.digest;
            return Ok((!is_same).then_some((contents, Extent::Whole, None)));
        };
        let Some(reference) = &origin.reference else {
            if is_same_choice {
                return Ok(None);
            }
            let mirror = Mirror::open(&origin.url, context)?;
            mirror.fetch_commit(commit)?;
            return Ok(Some((contents::at(&mirror, origin, commit, context)?, Extent::Whole, None)));
        };
        let mirror = Mirror::open(&origin.url, context)?;
        let (now, follows) = mirror.fetch_after(reference, commit)?;
        let standing = standing(&mirror, reference, commit, (&now, follows))?;
        let forced = match standing {
            Standing::Current if is_same_choice => return Ok(None),
            Standing::Current | Standing::Newer => None,
            Standing::Rewritten | Standing::Moved if self.force => Some(standing),
            Standing::Rewritten | Standing::Moved => return Err(refused(row, reference, &now, standing)),
        };
        if is_same_choice
            && let Some(changes) = mirror.changes(commit, &now, &origin.path)?
            && let Some(entries) = alone(row, &changes, context)?
        {
            let all = mirror.listed_as(commit, &now, &origin.path)?;
            let is_shared =
                all.iter().any(|entry| entry.is_link) && context.store.read(|db| sources::has_shared(db, row.id))?;
            if !is_shared && let Some(contents) = contents::some(&mirror, origin, &now, (&entries, &all))? {
                return Ok(Some((contents, Extent::Changed, forced)));
            }
        }
        Ok(Some((contents::at(&mirror, origin, &now, context)?, Extent::Whole, forced)))
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
