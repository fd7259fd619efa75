//! Applies a sync to the database, in one transaction before the folder is written and one after.

use std::collections::{BTreeMap, HashSet};

use super::base::plain;
use super::contents::{Contents, There};
use super::plan::Plan;
use super::step::{Act, Step};
use super::write::Outcome;
use crate::item::{Entry, Origin, What, server};
use crate::proposals::{self, New, Proposed};
use crate::stored::{self, Stored};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::Origin as From;
use mcpkg_store::revisions::Author;
use mcpkg_store::syncs::{self, Base, Write};
use mcpkg_store::{Db, blobs, modules};

/// The bases to record once the files are on disk, by the paths of the files. `None` means that the base is deleted.
pub(super) type Written = BTreeMap<String, Option<Base>>;

/// Carries out the changes that a sync makes in the database.
#[derive(Clone, Copy)]
pub(super) struct Change<'c> {
    pub(super) db: &'c Db<'c>,
    pub(super) author: Author<'c>,
    pub(super) project: &'c Project,
    pub(super) clock: &'c Clock,
    pub(super) sync: i64,
}

impl Change<'_> {
    /// Changes the project as planned, and records which files of the folder will be written. Until a file is written,
    /// its base is the version that was read from the folder. The project already contains the changes of that version.
    /// So if the sync is killed, the next sync does not undo these changes.
    pub(super) fn begin(self, plan: &mut Plan, contents: &Contents) -> Result<Written> {
        let mut written = Written::new();
        let paths: HashSet<&str> = plan.changes.writes.iter().map(|write| write.path.as_str()).collect();
        let listed: BTreeMap<&str, bool> =
            plan.changes.writes.iter().map(|write| (write.path.as_str(), write.listed.is_some())).collect();
        plan.links.begin(self.db, self.project, self.sync)?;
        let (moves, bases) = &plan.moved;
        for (old, _) in moves {
            syncs::delete_base(self.db, self.sync, old)?;
        }
        for base in bases {
            syncs::put_base(self.db, self.sync, base)?;
        }
        for step in &plan.steps {
            let there = contents.items.get(&step.path);
            let (base, then) = self.step(step, there)?;
            if let Some(base) = &base {
                self.keep(step, base)?;
            }
            if matches!(step.act, Act::Forget) {
                self.withdraw(step)?;
                syncs::delete_base(self.db, self.sync, &step.path)?;
            }
            // A server has no file of its own. The manifest or an agent's file contains it.
            let is_written = paths.contains(step.path.as_str()) || (server::is_path(&step.path) && then.is_some());
            if is_written {
                let mut then = then.unwrap_or(base);
                if let Some(then) = &mut then {
                    then.listed = listed.get(step.path.as_str()).copied().unwrap_or_default();
                }
                written.insert(step.path.clone(), then);
            }
        }
        self.follow(plan, contents)?;
        for write in &plan.changes.writes {
            let blob = write.bytes.as_ref().map(|bytes| blobs::put_source(self.db, bytes)).transpose()?;
            let listed = write.listed.as_ref().map(Entry::json).transpose()?;
            let write =
                Write { path: write.path.clone(), before: write.before, blob, executable: write.executable, listed };
            syncs::begin_write(self.db, self.sync, &write)?;
        }
        for listing in &plan.changes.listings {
            syncs::begin_write(self.db, self.sync, &listing.row()?)?;
        }
        Ok(written)
    }

    /// Records the new paths of items whose files were moved in the folder, so that an export uses these paths.
    fn follow(self, plan: &Plan, contents: &Contents) -> Result<()> {
        for (old, new) in &plan.moved.0 {
            let step = plan.steps.iter().find(|step| step.path == *new);
            let Some((ours, there)) = step.and_then(|step| step.ours.as_ref()).zip(contents.items.get(new)) else {
                continue;
            };
            let known = &ours.entry.origin;
            if let Some(module) = ours.module().filter(|_| known.path.as_ref() == Some(old)) {
                let row = modules::get(self.db, self.project.id, &module)?;
                let origin =
                    Origin { path: Some(new.clone()), agent: there.entry.origin.agent.clone(), ..known.clone() };
                stored::put_origin(self.db, self.project, module, &origin, row.as_ref())?;
            }
        }
        Ok(())
    }

    /// Carries out a step in the project. Returns the base to record now, and the base to record after the file is written.
    fn step(self, step: &Step, there: Option<&There>) -> Result<(Option<Base>, Option<Option<Base>>)> {
        let ours = step.ours.as_ref();
        let key = || ours.map(Stored::key).or_else(|| step.recorded.as_ref().map(|recorded| recorded.item.clone()));
        let known = || key().ok_or_else(|| Error::internal("a step does not belong to any item"));
        let theirs = |item: String| -> Result<Base> {
            let version = match there {
                Some(there) => Some((plain(&there.entry).json()?, blobs::put_source(self.db, &there.content)?)),
                None => None,
            };
            let listed = there.is_some_and(|there| there.listed);
            Ok(Base { path: step.path.clone(), item, version, listed, proposal: None })
        };
        let both = |item: String, entry: &Entry, content: &NewContent| -> Result<Base> {
            let version = Some((plain(entry).json()?, blobs::put_source(self.db, content)?));
            Ok(Base { path: step.path.clone(), item, version, listed: false, proposal: None })
        };
        let waiting = |proposed: Proposed<'_>| -> Result<Base> {
            let item = known()?;
            let new = New { origin: From::Sync, item: &item, ours, path: &step.path, proposed };
            let id = proposals::propose(self.db, self.author, self.project, new)?;
            let version = step.base.as_ref().map(|(entry, blob)| Ok::<_, Error>((entry.json()?, *blob))).transpose()?;
            let listed =
                there.map_or(step.recorded.as_ref().is_some_and(|recorded| recorded.listed), |there| there.listed);
            Ok(Base { path: step.path.clone(), item, version, listed, proposal: Some(id) })
        };
        Ok(match (&step.act, there) {
            (Act::Same, _) => (Some(theirs(known()?)?), None),
            (Act::Take, Some(there)) => {
                let entry = as_stored(ours, &there.entry);
                let item = self.put(ours, &entry, &there.content)?;
                self.withdraw(step)?;
                (Some(theirs(item)?), None)
            }
            (Act::Give(entry, content), _) => {
                let item = known()?;
                self.say_as_given(ours, entry, content)?;
                // A new item gets its base only when its file is on disk.
                let base = if there.is_some() || step.recorded.is_some() { Some(theirs(item.clone())?) } else { None };
                (base, Some(Some(both(item, entry, content)?)))
            }
            (Act::Merge(entry, content), _) => {
                let item = self.put(ours, entry, content)?;
                (Some(theirs(item.clone())?), Some(Some(both(item, entry, content)?)))
            }
            (Act::DeleteFile, _) => (None, Some(None)),
            (Act::ProposeChange(_), Some(there)) => {
                let blob = blobs::put_source(self.db, &there.content)?;
                let entry = as_stored(ours, &there.entry);
                (Some(waiting(Proposed::Change { entry: &entry, blob })?), None)
            }
            (Act::ProposeDeleteFile, Some(there)) => {
                let blob = blobs::put_source(self.db, &there.content)?;
                (Some(waiting(Proposed::DeleteFile { entry: &there.entry, blob })?), None)
            }
            (Act::ProposeDelete, _) => (Some(waiting(Proposed::Delete)?), None),
            _ => (None, None),
        })
    }

    /// Updates a server or an agent-specific file in the project to the version that the folder gets. It may differ
    /// from the project's version: a change to a server in the project changes only the server's row, but in the folder
    /// it changes the agent's file too.
    fn say_as_given(self, ours: Option<&Stored>, entry: &Entry, content: &NewContent) -> Result<()> {
        let Some(ours) = ours.filter(|_| matches!(entry.what, What::AgentFile { .. } | What::Server)) else {
            return Ok(());
        };
        if ours.entry == *entry && stored::sha256(self.db, ours)? == content.sha256() {
            return Ok(());
        }
        self.put(Some(ours), entry, content).map(drop)
    }

    /// Stores this entry and content in `ours`, or as a new item. Returns the item's key.
    fn put(self, ours: Option<&Stored>, entry: &Entry, content: &NewContent) -> Result<String> {
        stored::put(self.db, self.author, self.project, self.clock, ours.cloned(), entry, content)
    }

    /// Stores a base, unless it is already stored. Withdraws the item's open proposal if the new base has none.
    fn keep(self, step: &Step, base: &Base) -> Result<()> {
        if step.recorded.as_ref() == Some(base) {
            return Ok(());
        }
        if base.proposal.is_none() {
            self.withdraw(step)?;
        }
        syncs::put_base(self.db, self.sync, base)
    }

    /// Withdraws the open proposal of an item that no longer needs one.
    fn withdraw(self, step: &Step) -> Result<()> {
        match step.recorded.as_ref().filter(|recorded| recorded.proposal.is_some()) {
            Some(recorded) => {
                mcpkg_store::proposals::withdraw(self.db, self.project.id, From::Sync, &recorded.item).map(drop)
            }
            None => Ok(()),
        }
    }

    /// Records the new bases of the files that `outcome` lists as written, and deletes the journal. The bases of servers are
    /// recorded only if every file was written, because it is not known here which file contains a server.
    pub(super) fn end(self, mut written: Written, outcome: &Outcome) -> Result<()> {
        let is_done = |path: &String| match server::is_path(path) {
            true => outcome.changed.is_empty(),
            false => outcome.done.binary_search(path).is_ok(),
        };
        written.retain(|path, _| is_done(path));
        for (path, base) in written {
            match base {
                Some(base) => syncs::put_base(self.db, self.sync, &base)?,
                None => syncs::delete_base(self.db, self.sync, &path)?,
            }
        }
        syncs::end_writes(self.db, self.sync)
    }
}

/// Returns the folder's entry as the project stores it. An existing item keeps its original path. Only a server, and a
/// prompt that was renamed in the folder, get the path from the folder.
fn as_stored(ours: Option<&Stored>, theirs: &Entry) -> Entry {
    // The path of a renamed prompt changes with its name.
    let stays = |ours: &&Stored| !theirs.what.is_prompt() || ours.entry.name == theirs.name;
    let ours = ours.filter(|_| theirs.what != What::Server).filter(stays);
    match ours.map(|ours| &ours.entry.origin).filter(|origin| origin.path.is_some()) {
        Some(known) => {
            let origin = Origin { applies: theirs.origin.applies.clone(), ..known.clone() };
            Entry { origin, ..theirs.clone() }
        }
        None => theirs.clone(),
    }
}
