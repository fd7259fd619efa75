//! The operation `mcpkg sync`: locks the folder, reads it, and carries out the plan.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::apply::{Change, Written};
use super::approval::Pair;
use super::contents::{self, Contents};
use super::journal::{self, Journal};
use super::plan::Plan;
use super::report;
use super::step::Act;
use super::unchanged;
use super::write::{self, Outcome};
use super::{decide, servers};
use crate::{GROUP, audited, ignored, stored};
use mcpkg_agents::audit::Report;
use mcpkg_base::disk::{self, FolderLock};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural::count;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::projects::{self, Project};
use mcpkg_store::syncs::{self, Known};

/// Keep the project and a folder the same
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Sync {
    /// Folder to sync with, created if it does not exist [default: the folder of the last sync]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Show what a sync would do, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Same as --dry-run, except that the exit status is 3 if the project and the folder differ
    #[arg(long)]
    #[serde(default)]
    check: bool,
    /// Sync as if for the first time: nothing counts as deleted, and differences become proposals
    #[arg(long)]
    #[serde(default)]
    again: bool,
}

impl Operation for Sync {
    const TOOL: &'static str = "sync_project";
    const CLI: &'static [&'static str] = &["sync"];
    const TITLE: &'static str = "Sync the project with a folder";
    const ABOUT: &'static str =
        "Sync the selected project with a folder in both directions; the folder can be in a git repository";
    const HELP: &'static str = "The folder has the same layout as a folder written by `mcpkg export`, including MCP \
        servers. An MCP server that someone else added or changed is disabled until you enable it. If only one side \
        changed an item, mcpkg copies the change to the other side. If both sides changed an item, mcpkg merges the \
        changes line by line. Conflicts and deletions become proposals: the item stays unchanged on both sides until \
        you run `mcpkg evolve accept` or `mcpkg evolve reject`. While a proposal is open, the exit status is 1.\n\n\
        Sync skips the files that `mcpkg import` skips (hidden files, node_modules, ignored files), files with \
        unresolved git conflicts or conflict markers, and files that are not items. mcpkg writes each link to the \
        folder only once. If you later change or delete the link in the folder, mcpkg applies the same change to the \
        project. If an item's file has copies, mcpkg updates the copies along with the file, but creates no new \
        copies. To share a project, commit the folder, and run `mcpkg sync` after each pull.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg sync team/prompts",
        "mcpkg sync --check",
        "git pull && mcpkg sync && git commit -am 'prompts' && git push",
    ];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let dry = self.dry_run || self.check;
        let mut reply = match self.top(context, dry)? {
            Some(top) => self.sync(context, &top, dry)?,
            None => self.first_look(context)?,
        };
        reply.differs = self.check && reply.differs;
        Ok(reply)
    }
}

impl Sync {
    /// Returns the real path of the folder: the given one, or the folder of the last sync. If the given folder is
    /// missing, creates it, or returns `None` if `dry` is set. Fails if the missing folder was synced before.
    fn top(&self, context: &Context, dry: bool) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.folder else { return self.last(context).map(Some) };
        let failed = |error| Error::file("read", folder, error);
        match mcpkg_base::platform::real(folder) {
            Ok(top) => {
                refuse(&top)?;
                return Ok(Some(top));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            Err(_) => {}
        }
        // A folder that was synced before must not be created again if it is missing: its disk may not be mounted.
        let gone = std::path::absolute(folder).map_err(failed)?;
        if self.knows(context, &gone)? {
            return Err(missing(&gone));
        }
        if dry {
            return Ok(None);
        }
        fs::create_dir_all(folder).map_err(|error| Error::file("make", folder, error))?;
        mcpkg_base::platform::real(folder).map(Some).map_err(failed)
    }

    /// Returns whether the project was synced with this missing folder on this machine. False if `--again` is given.
    fn knows(&self, context: &Context, gone: &Path) -> Result<bool> {
        if self.again {
            return Ok(false);
        }
        let parent = gone.parent().and_then(|parent| mcpkg_base::platform::real(parent).ok());
        let real = parent.zip(gone.file_name()).map_or_else(|| gone.to_path_buf(), |(parent, name)| parent.join(name));
        let (project, known) = context.read(|db, project| {
            Ok((project.clone(), syncs::get(db, project.id, &real.to_string_lossy())?.is_some()))
        })?;
        Ok(known && Pair(&project, &real).is_approved(context)?)
    }

    /// Returns the folder that the project was last synced with.
    fn last(&self, context: &Context) -> Result<PathBuf> {
        let (project, last) = context.read(|db, project| Ok((project.clone(), syncs::last(db, project.id)?)))?;
        let Some(last) = last else {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("Project '{}' has not been synced with a folder yet", project.name),
            )
            .hint("pass a folder: `mcpkg sync DIR`"));
        };
        let top = PathBuf::from(last.folder);
        if !Pair(&project, &top).is_approved(context)? {
            return Err(Error::new(
                Code::Unapproved,
                format!(
                    "The database lists the folder `{}`, but you have never synced it on this machine",
                    top.display()
                ),
            )
            .hint("to approve it, pass the folder: `mcpkg sync DIR`"));
        }
        if !top.is_dir() {
            return Err(missing(&top));
        }
        Ok(top)
    }

    /// Returns what a sync would do with a folder that does not exist yet.
    fn first_look(&self, context: &Context) -> Result<Reply> {
        let contents = Contents::default();
        let folder = self.folder.clone().unwrap_or_default();
        let (plan, project) = context
            .read(|db, project| Ok((Plan::new(db, project, &contents, &Known::default())?, project.name.clone())))?;
        let mut reply = report::Report { project: &project, folder: &folder, dry: true }.of(
            &plan,
            &contents,
            &Outcome::default(),
            0,
        );
        reply.differs = true;
        Ok(reply)
    }

    fn sync(&self, context: &Context, top: &Path, dry: bool) -> Result<Reply> {
        // A preview writes nothing, so it needs no lock, and must not make a sync in another process fail.
        let _lock = (!dry).then(|| lock(top)).transpose()?;
        let (project, known) = context.read(|db, project| {
            let known = syncs::get(db, project.id, &top.to_string_lossy())?;
            Ok((project.clone(), known))
        })?;
        let report = report::Report { project: &project.name, folder: top, dry };
        // Use the record of an earlier sync only if this user approved the folder, because the database may come from
        // somebody else.
        let known = known.filter(|_| !self.again);
        let known = if Pair(&project, top).is_approved(context)? { known } else { None };
        let (mut is_whole, mut strange) = (true, 0);
        if let Some(known) = &known {
            let (journal, same, waiting) = context.store.read(|db| {
                let journal = Journal::read(db, known.id, &project, top)?;
                let same = journal.writes.is_empty() && unchanged::is_unchanged(db, &project, known, top)?;
                Ok((journal, same, syncs::waiting(db, known.id)?))
            })?;
            if same {
                let mut reply = report.unchanged(waiting);
                reply.differs = waiting > 0;
                return Ok(reply);
            }
            is_whole = journal.writes.is_empty();
            if !is_whole && !dry {
                if journal.is_of_this_machine(context)? {
                    write::write(top, &journal.writes, context)?;
                } else {
                    strange = journal.writes.len();
                }
                context.store.write(|db| syncs::end_writes(db, known.id))?;
                journal::end(context, &project, top);
            }
        }
        let before = match &known {
            Some(known) => context.store.read(|db| syncs::known(db, known.id))?,
            None => Known::default(),
        };
        let (servers, stored) = context.store.read(|db| {
            let stored = stored::all(db, &project)?;
            Ok((servers::keys(db, &project)?, stored))
        })?;
        let (mut contents, found) = Contents::read(top, &before, &stored, context)?;
        servers::take(&mut contents, found, &before.bases, &servers)?;
        if dry {
            let plan = context.read(|db, project| Plan::new(db, project, &contents, &before))?;
            let waiting = match &known {
                Some(known) => context.store.read(|db| syncs::waiting(db, known.id))?,
                None => 0,
            };
            let mut reply = report.of(&plan, &contents, &Outcome::default(), waiting);
            reply.differs = plan.does_anything() || waiting > 0 || !is_whole || !reply.warnings.is_empty();
            return Ok(reply);
        }
        let unrecorded = match context.confirmation {
            Confirmation::Ask => accept_critical(context, &project, &mut contents, &before)?,
            Confirmation::Given | Confirmation::Nobody => Vec::new(),
        };
        if context.is_cancelled() {
            return Err(contents::cancelled());
        }
        write::sweep(&contents.disk.leftovers)?;
        let pair = Pair(&project, top);
        if !pair.is_approved(context)? {
            pair.approve(context)?;
        }
        let id = known.as_ref().map(|known| known.id);
        let (id, plan, written) = begin(context, &project, top, id, &contents)?;
        let (outcome, waiting) = end(context, &project, top, id, &plan, written)?;
        let mut reply = report.of(&plan, &contents, &outcome, waiting).warn(unrecorded);
        if strange > 0 {
            reply.warnings.push(format!(
                "The database lists an unfinished sync of {}, but no sync was running on this machine; mcpkg \
                    discarded these entries",
                count(strange, "file")
            ));
        }
        Ok(reply)
    }
}

/// Asks the person at the terminal about critical audit findings in what the sync would take from the folder. Returns
/// warnings.
fn accept_critical(
    context: &Context,
    project: &Project,
    contents: &mut Contents,
    before: &Known,
) -> Result<Vec<String>> {
    let mut report = Report::default();
    context.store.read(|db| {
        for step in Plan::new(db, project, contents, before)?.steps {
            if matches!(&step.act, Act::Skip(why) if why == decide::CRITICAL) {
                let there = contents.items.get(&step.path);
                report.add(decide::critical(db, &step.path, there, step.ours.as_ref(), &contents.accepted)?);
            }
        }
        Ok(())
    })?;
    if !report.findings.is_empty() {
        let question = "Sync these files although they have critical audit findings?";
        (context.ask)(Body::lines(audited::critical_lines(&report)), question)?;
        contents.accepts_critical = true;
    }
    Ok(ignored::accept(report.findings.iter(), context))
}

/// Plans a sync, and changes the project. Returns the key of the sync, the plan, and the bases to record after the files are
/// written.
fn begin(
    context: &Context,
    project: &Project,
    top: &Path,
    known: Option<i64>,
    contents: &Contents,
) -> Result<(i64, Plan, Written)> {
    let folder = top.to_string_lossy();
    context.store.write(|db| {
        let author = context.author();
        // The project may have been renamed or deleted since the folder was read.
        let project = projects::by_uuid(db, project.uuid)?.ok_or_else(|| {
            Error::new(Code::NotFound, format!("Project '{}' was deleted in the meantime", project.name))
        })?;
        let stale = syncs::get(db, project.id, &folder)?.filter(|stale| Some(stale.id) != known);
        stale.map(|stale| syncs::delete(db, stale.id)).transpose()?;
        let id = match known {
            Some(id) => id,
            None => syncs::insert(db, project.id, &folder, contents.looked_at)?,
        };
        let before = syncs::known(db, id)?;
        let mut plan = Plan::new(db, &project, contents, &before)?;
        // Store the duplicates after planning, because the plan needs those of the last sync.
        syncs::put_duplicates(db, id, &before.duplicates, &contents.duplicates)?;
        let change = Change { db, author, project: &project, clock: &context.clock, sync: id };
        let written = change.begin(&mut plan, contents)?;
        if plan.does_anything() {
            context.event(db, author, Some(&project.name), "sync", &folder)?;
        }
        Journal::read(db, id, &project, top)?.record(context, &project, top)?;
        // Record the folder's state only if no file is written or skipped, because the next sync has to look at such
        // files again.
        let is_done = !plan.writes_anything() && !plan.lets_be();
        let state = is_done.then(|| syncs::state(db, project.id)).transpose()?;
        syncs::store_state(db, id, if is_done { &contents.disk.seen } else { &[] }, state, contents.looked_at)?;
        Ok((id, plan, written))
    })
}

/// Writes the files, and records the new bases. Returns the outcome, and the number of open proposals.
fn end(
    context: &Context,
    project: &Project,
    top: &Path,
    id: i64,
    plan: &Plan,
    written: Written,
) -> Result<(Outcome, i64)> {
    if !plan.writes_anything() && written.is_empty() {
        return Ok((Outcome::default(), context.store.read(|db| syncs::waiting(db, id))?));
    }
    let writes = context.store.read(|db| syncs::writes(db, id))?;
    let outcome = write::write(top, &writes, context).map_err(|error| {
        error.hint("the folder's changes are already in the project; the next `mcpkg sync` writes the remaining files")
    })?;
    let links = plan.links.make(top)?;
    let waiting = context.store.write(|db| {
        links.iter().try_for_each(|(path, text)| syncs::put_link(db, id, path, text))?;
        let change = Change { db, author: context.author(), project, clock: &context.clock, sync: id };
        change.end(written, &outcome)?;
        syncs::waiting(db, id)
    })?;
    journal::end(context, project, top);
    Ok((outcome, waiting))
}

/// Locks the folder against other syncs, including those of other databases. Dropping the lock releases it.
fn lock(top: &Path) -> Result<FolderLock> {
    disk::lock_folder(top).ok_or_else(|| {
        Error::new(Code::Busy, format!("`{}` is being synced by another process", top.display()))
            .hint("try again when it has finished")
    })
}

/// Fails if the path is not a folder, or if it is the root of the file system or the user's home folder.
fn refuse(top: &Path) -> Result<()> {
    if !top.is_dir() {
        return Err(Error::new(Code::InvalidArgument, format!("`{}` is not a folder", top.display())));
    }
    let home = std::env::home_dir().and_then(|home| mcpkg_base::platform::real(&home).ok());
    if top.parent().is_none() || Some(top) == home.as_deref() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("`{}` cannot be synced: it is the root folder or your home folder", top.display()),
        )
        .hint("use a separate folder for the project: everything in it becomes part of the project"));
    }
    Ok(())
}

fn missing(folder: &Path) -> Error {
    Error::new(Code::NotFound, format!("The folder `{}` no longer exists", folder.display()))
        .hint("nothing was deleted from the project; check that the folder's disk is mounted")
        .hint("to write the project to a new folder: `mcpkg sync DIR --again`")
}
