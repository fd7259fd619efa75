//! Carries out the planned update of a source in the database.

use super::cancelled;
use super::contents::{Contents, Digest};
use super::plan::{Done, Extent, Step, plan};
use super::write;
use crate::item::{Entry, What};
use crate::merge::sides::Sides;
use crate::proposals::{self, New, Proposed};
use crate::stored::{self, Stored};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::links::{self, Link, Target};
use mcpkg_store::modules;
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self as kept, Origin};
use mcpkg_store::revisions::Author;
use mcpkg_store::sources::{self, SourceRow};

/// Plans an update, and carries it out in the transaction of `db`. Records the source's new version.
pub fn apply(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    source: &SourceRow,
    contents: &Contents,
    extent: Extent,
    context: &Context,
) -> Result<Vec<Step>> {
    let mut steps = plan(db, project, source, contents, extent)?;
    let total = steps.len() as u64;
    // Delete items first, because new items may reuse the names of deleted ones.
    let (going, coming): (Vec<_>, Vec<_>) = steps.iter_mut().partition(|step| step.taken.is_none());
    for (done, step) in (1..).zip(going.into_iter().chain(coming)) {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        Applying { db, author, project, source, contents, context }.step(step)?;
        (context.progress)("Writing", done, total);
    }
    let mut digest = Digest::default();
    sources::each_file(db, source.id, |path, executable, sha256| {
        digest.add(path, executable, sha256);
        Ok(())
    })?;
    let (commit, plugins) = (contents.commit.as_deref(), contents.plugins());
    sources::set_read(db, source.id, commit, &digest.finish(), plugins.as_deref(), author.now)?;
    Ok(steps)
}

struct Applying<'a> {
    db: &'a Db<'a>,
    author: Author<'a>,
    project: &'a Project,
    source: &'a SourceRow,
    contents: &'a Contents,
    context: &'a Context,
}

impl Applying<'_> {
    fn step(&self, step: &mut Step) -> Result<()> {
        let Some(at) = step.taken else { return self.gone(step) };
        let taken = &self.contents.items[at];
        if matches!(step.done, Done::NameTaken(_)) {
            return Ok(());
        }
        let mut row = write::row(self.db, taken, step.row.as_ref().map_or_else(String::new, |row| row.item.clone()))?;
        let theirs =
            step.theirs.clone().ok_or_else(|| Error::internal("a source's file was not turned into an item"))?;
        row.entry = theirs.json()?;
        let written = match &step.done {
            Done::Created | Done::Taken => Some(self.put(step, &theirs, &taken.item.content)),
            Done::Merged(merged) => {
                let sides = Sides {
                    db: self.db,
                    base: None,
                    theirs: Some((&theirs, &taken.item.content)),
                    ours: step.ours.as_ref().map(|ours| (&ours.entry, ours)),
                };
                let content = sides.content(&merged.content)?;
                Some(self.put(step, &merged.entry, &content))
            }
            _ => None,
        };
        if let (What::AgentFile { .. }, Some(Ok(_))) = (&theirs.what, &written) {
            self.note_altered(&taken.item.path, &theirs.name)?;
        }
        match written {
            Some(Err(error)) if error.code() == Code::AlreadyExists => step.done = Done::Proposed(vec!["name"]),
            Some(key) => row.item = key?,
            None => {}
        }
        let before = step.row.as_ref().and_then(|row| row.proposal).zip(step.base.as_ref());
        if let (Done::Pending, Some((proposal, base))) = (&step.done, before) {
            (row.entry, row.blob, row.proposal) = (base.entry.json()?, base.blob, Some(proposal));
        } else if let Done::Proposed(_) = step.done {
            let key = step.ours.as_ref().map(Stored::key).or_else(|| step.row.as_ref().map(|row| row.item.clone()));
            let Some(key) = key else { return Ok(()) };
            row.proposal = Some(self.propose(step, &key, Proposed::Change { entry: &theirs, blob: row.blob })?);
            // Without a base, the item does not belong to the source until a person has decided, so record nothing.
            // With a base, keep that base.
            let Some(base) = &step.base else { return Ok(()) };
            (row.entry, row.blob) = (base.entry.json()?, base.blob);
        } else if row.item.is_empty() {
            let Some(ours) = &step.ours else {
                return Err(Error::internal("an item that the merge keeps does not exist"));
            };
            row.item = ours.key();
        }
        if row.proposal.is_none() {
            // The change is done, so an earlier proposal for this item is settled.
            kept::withdraw(self.db, self.project.id, Origin::Source, &row.item)?;
        }
        if let Some(from) = &step.moved_from {
            sources::delete_item(self.db, self.source.id, from)?;
        }
        sources::put_item(self.db, self.source.id, &row)
    }

    /// Records whether an agent's file is stored with changes, so that an export can list it.
    fn note_altered(&self, path: &str, stored_at: &str) -> Result<()> {
        match self.contents.account.altered.get(path) {
            Some(why) => {
                let link = Link { path: stored_at.to_owned(), target: Target::Altered(why.clone()) };
                links::put(self.db, self.project.id, &link)
            }
            None => links::delete(self.db, self.project.id, stored_at),
        }
    }

    /// Carries out the step for a file that the source no longer has.
    fn gone(&self, step: &Step) -> Result<()> {
        match (&step.done, &step.ours) {
            (Done::Deleted, Some(ours)) => stored::delete(self.db, self.author, self.project, ours)?,
            (Done::ProposedDelete, Some(ours)) => drop(self.propose(step, &ours.key(), Proposed::Delete)?),
            _ => {}
        }
        sources::delete_item(self.db, self.source.id, &step.path)
    }

    fn put(&self, step: &Step, entry: &Entry, content: &NewContent) -> Result<String> {
        self.follow_skill(step, entry)?;
        let (db, clock) = (self.db, &self.context.clock);
        stored::put(db, self.author, self.project, clock, step.ours.clone(), entry, content)
    }

    /// If an update renames a skill, copies the skill's row in the modules table, with its tags and so on, to the new
    /// name. Does nothing if the new name has a row already.
    fn follow_skill(&self, step: &Step, entry: &Entry) -> Result<()> {
        let skill = |entry: &Entry| {
            let (name, _) = entry.what.in_skill()?;
            Some(format!("skill:{name}"))
        };
        let (Some(old), Some(new)) = (step.ours.as_ref().and_then(|ours| skill(&ours.entry)), skill(entry)) else {
            return Ok(());
        };
        if old == new || modules::get(self.db, self.project.id, &new)?.is_some() {
            return Ok(());
        }
        if let Some(row) = modules::get(self.db, self.project.id, &old)? {
            modules::put(self.db, self.project.id, &modules::Row { item: new, ..row })?;
        }
        Ok(())
    }

    fn propose(&self, step: &Step, item: &str, proposed: Proposed<'_>) -> Result<i64> {
        let new = New { origin: Origin::Source, item, ours: step.ours.as_ref(), path: &step.path, proposed };
        proposals::propose(self.db, self.author, self.project, new)
    }
}
