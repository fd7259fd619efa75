//! Plans an update of a source: merges the source's new version with the changes made in the project.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::contents::{Contents, SourceFile};
use super::renames;
use super::show;
use crate::item::{Entry, What};
use crate::merge::{Content, Merged, Outcome, Side, sides::Sides};
use crate::stored::{self, Stored};
use mcpkg_base::error::{Code, Result};
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, Proposal, State};
use mcpkg_store::sources::{self, ItemRow, SourceRow};
use mcpkg_store::{Db, blobs};

/// How much of a source was read for an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// Only the changed files were read. All others are the same as before.
    Changed,
}

/// A file of a source, and what an update does with it.
#[derive(Debug)]
pub struct Step {
    /// The path in the source. For a deleted file, this is its former path.
    pub path: String,
    /// The former path, if the file was moved.
    pub moved_from: Option<String>,
    /// The name of the item in the project, or the name that it gets.
    pub name: String,
    pub done: Done,
    pub row: Option<ItemRow>,
    pub base: Option<Base>,
    /// The index of the file in the source's contents; `None` if the source no longer has the file.
    pub taken: Option<usize>,
    pub theirs: Option<Entry>,
    /// The project's version before the update.
    pub ours: Option<Stored>,
}

/// The base of the next merge: the version that was last merged, or that a person last decided about.
#[derive(Clone, Debug)]
pub struct Base {
    pub entry: Entry,
    pub blob: i64,
}

/// What an update does with an item.
#[derive(Clone, Debug)]
pub enum Done {
    /// The project's version stays.
    Kept,
    Created,
    /// The source's version replaces the project's.
    Taken,
    /// The item gets a version with the changes of both sides.
    Merged(Box<Merged>),
    /// The item is deleted, because the source deleted its file.
    Deleted,
    /// These parts conflict, so the project's version stays and the source's version is proposed.
    Proposed(Vec<&'static str>),
    /// The same change was proposed earlier, and nobody has decided yet.
    Pending,
    /// The source deleted the file, but the project changed the item. The item stays, and its deletion is proposed.
    ProposedDelete,
    /// The item is skipped, because another source already uses the item's name. The text is the name of that source.
    NameTaken(String),
}

impl Done {
    pub const fn word(&self) -> &'static str {
        match self {
            Done::Kept => "kept",
            Done::Created => "created",
            Done::Taken => "updated",
            Done::Merged(_) => "merged",
            Done::Deleted => "deleted",
            Done::Proposed(_) => "proposed",
            Done::Pending => "proposed already",
            Done::ProposedDelete => "deletion proposed",
            Done::NameTaken(_) => "left out",
        }
    }
}

impl Step {
    /// Returns the step as a line of output.
    pub fn line(&self) -> String {
        let moved = self.moved_from.as_ref().map_or(String::new(), |from| format!(" (moved from {from})"));
        let why = match &self.done {
            Done::Proposed(parts) => format!(": {} changed on both sides", parts.join(" and ")),
            Done::ProposedDelete => ": deleted in the source, changed in the project".to_owned(),
            Done::NameTaken(source) => format!(": its name is already used by source '{source}'"),
            _ => String::new(),
        };
        format!("{}{moved}: {} '{}'{why}", self.path, self.done.word(), self.name)
    }

    /// Returns the step as JSON.
    pub fn data(&self) -> Value {
        let mut data = json!({ "path": self.path, "name": self.name, "done": self.done.word() });
        if let Some(from) = &self.moved_from {
            data["moved_from"] = from.as_str().into();
        }
        if let Done::Proposed(parts) = &self.done {
            data["parts"] = json!(parts);
        }
        data
    }
}

/// Plans an update, one step for each file.
pub fn plan(
    db: &Db<'_>,
    project: &Project,
    source: &SourceRow,
    contents: &Contents,
    extent: Extent,
) -> Result<Vec<Step>> {
    let rows = match extent {
        Extent::Whole => sources::items(db, source.id)?,
        Extent::Changed => {
            let known = contents.items.iter().map(|taken| sources::item(db, source.id, &taken.path));
            known.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect()
        }
    };
    let before = rows.into_iter().map(|row| show::entry(&row).map(|entry| (row, entry)));
    let before: Vec<(ItemRow, Entry)> = before.collect::<Result<_>>()?;
    let moved = renames::find(&before, &contents.items, |row| blobs::get(db, row.blob))?;
    let at: HashMap<&str, usize> =
        contents.items.iter().enumerate().map(|(at, taken)| (taken.path.as_str(), at)).collect();
    let skills = skill_names(&before, &contents.items);
    let planning = Planning { db, project, contents };
    let mut followed = HashSet::new();
    let mut steps = Vec::new();
    for (row, entry) in before {
        let new_path = moved.get(&row.path).unwrap_or(&row.path);
        let taken = at.get(new_path.as_str()).copied();
        followed.extend(taken);
        steps.extend(planning.known(row, entry, taken)?);
    }
    for taken in (0..contents.items.len()).filter(|taken| !followed.contains(taken)) {
        steps.extend(planning.first(taken, &skills)?);
    }
    steps.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(steps)
}

/// For each SKILL.md that the source still has, returns the name that its skill got in the last update, by path.
fn skill_names(before: &[(ItemRow, Entry)], after: &[SourceFile]) -> HashMap<String, String> {
    let mains: HashSet<&str> = after.iter().filter_map(|taken| taken.item.entry.origin.path.as_deref()).collect();
    let known = before.iter().filter_map(|(_, entry)| {
        let (name, _) = entry.what.in_skill()?;
        let main = entry.origin.path.as_deref().filter(|main| mains.contains(main))?;
        Some((main.to_owned(), name.to_owned()))
    });
    known.collect()
}

struct Planning<'p> {
    db: &'p Db<'p>,
    project: &'p Project,
    contents: &'p Contents,
}

impl Planning<'_> {
    /// Plans the step for a file that the last version of the source had too.
    fn known(&self, row: ItemRow, entry: Entry, taken: Option<usize>) -> Result<Option<Step>> {
        let ours = stored::get(self.db, self.project, &row.item)?;
        let (base, open) = self.base(&row, entry)?;
        let theirs = taken.map(|at| {
            let taken = &self.contents.items[at];
            match taken.path == row.path {
                true => keep_name(&taken.item.entry, &base.entry),
                false => taken.item.entry.clone(),
            }
        });
        let content = taken.map(|at| &self.contents.items[at].item.content);
        let sides = Sides {
            db: self.db,
            base: Some((&base.entry, base.blob)),
            theirs: theirs.as_ref().zip(content),
            ours: ours.as_ref().map(|ours| (&ours.entry, ours)),
        };
        let done = match sides.merge()? {
            Outcome::Unchanged | Outcome::Kept | Outcome::DeletedHere { changed: false } => Done::Kept,
            Outcome::Taken => Done::Taken,
            Outcome::Merged(merged) => checked(merged, sides)?,
            Outcome::Conflict(_) | Outcome::DeletedHere { changed: true }
                if self.is_pending(open.as_ref(), sides)? =>
            {
                Done::Pending
            }
            Outcome::Conflict(parts) => Done::Proposed(parts),
            Outcome::DeletedHere { changed: true } => Done::Proposed(vec!["deletion"]),
            Outcome::DeletedThere { changed: true } => Done::ProposedDelete,
            Outcome::DeletedThere { changed: false } => Done::Deleted,
        };
        let name = ours.as_ref().map_or_else(|| base.entry.name.clone(), |ours| ours.entry.name.clone());
        let path = taken.map_or_else(|| row.path.clone(), |at| self.contents.items[at].path.clone());
        let moved_from = (path != row.path).then(|| row.path.clone());
        Ok(Some(Step { path, moved_from, name, done, row: Some(row), base: Some(base), taken, theirs, ours }))
    }

    /// Plans the step for a file that is new in the source.
    fn first(&self, at: usize, skills: &HashMap<String, String>) -> Result<Option<Step>> {
        let taken = &self.contents.items[at];
        let entry = in_known_skill(&taken.item.entry, skills);
        let ours = stored::find(self.db, self.project, &entry)?;
        let done = match &ours {
            None => Done::Created,
            Some(ours) => {
                let other = sources::of_item(self.db, self.project.id, &ours.key(), 0)?;
                let sha256 = stored::sha256(self.db, ours)?;
                let same = ours.entry.what == entry.what && sha256 == taken.item.content.sha256();
                match (other, same) {
                    (Some(other), _) => Done::NameTaken(other),
                    (None, true) => Done::Kept,
                    (None, false) => Done::Proposed(vec!["name"]),
                }
            }
        };
        let (path, name) = (taken.path.clone(), entry.name.clone());
        let theirs = Some(entry);
        Ok(Some(Step { path, moved_from: None, name, done, row: None, base: None, taken: Some(at), theirs, ours }))
    }

    /// Returns the base of a row, and its open proposal if there is one. While a proposal is open, the base is the version
    /// before the proposal. After a person's decision, the base is the proposed version.
    fn base(&self, row: &ItemRow, entry: Entry) -> Result<(Base, Option<Proposal>)> {
        let proposal = row.proposal.map(|id| proposals::get(self.db, self.project.id, id)).transpose()?.flatten();
        let (open, decided) = match proposal {
            Some(proposal) if proposal.state == State::Open => (Some(proposal), None),
            decided => (None, decided),
        };
        let (entry, blob) = match decided.and_then(|proposal| Some((proposal.entry?, proposal.blob?))) {
            Some((text, blob)) => (show::entry(&ItemRow { entry: text, ..row.clone() })?, blob),
            None => (entry, row.blob),
        };
        Ok((Base { entry, blob }, open))
    }

    /// Returns whether the open proposal already contains the same change to the project's current version.
    fn is_pending(&self, open: Option<&Proposal>, Sides { theirs, ours, .. }: Sides<'_>) -> Result<bool> {
        let (Some(open), Some((entry, content))) = (open, theirs) else { return Ok(false) };
        let (Some(blob), Some(text)) = (open.blob, &open.entry) else { return Ok(false) };
        let is_same = serde_json::from_str::<Entry>(text).is_ok_and(|proposed| proposed == *entry);
        Ok(is_same
            && stored::is_at(self.db, ours.map(|(_, ours)| ours), open.base)?
            && blobs::sha256(self.db, blob)? == content.sha256())
    }
}

/// Turns a merge into a proposal if the merged content is not valid, for example because a template no longer parses.
fn checked(merged: Box<Merged>, sides: Sides<'_>) -> Result<Done> {
    if merged.content == Content::Of(Side::Ours) {
        return Ok(Done::Merged(merged));
    }
    match stored::check(&merged.entry, &sides.content(&merged.content)?) {
        Ok(()) => Ok(Done::Merged(merged)),
        Err(error) if error.code() == Code::FileFailed => Err(error),
        Err(_) => Ok(Done::Proposed(vec!["content"])),
    }
}

/// Returns a file's new version with its former name and URI. This is needed because other files can influence which name a
/// file gets, and a file that did not move must keep its name.
fn keep_name(theirs: &Entry, base: &Entry) -> Entry {
    let mut entry = theirs.clone();
    entry.name.clone_from(&base.name);
    if let (What::Resource(theirs), What::Resource(base)) = (&mut entry.what, &base.what) {
        theirs.uri.clone_from(&base.uri);
    }
    entry
}

/// Gives a new file of a known skill the name that the skill's other files already have.
fn in_known_skill(theirs: &Entry, skills: &HashMap<String, String>) -> Entry {
    let mut entry = theirs.clone();
    let name = theirs.origin.path.as_ref().and_then(|main| skills.get(main));
    if let (What::Resource(attributes), Some(name)) = (&mut entry.what, name) {
        let inside = attributes.uri.strip_prefix("skill://").and_then(|rest| rest.split_once('/'));
        if let Some((own, path)) = inside.filter(|(own, _)| own != name) {
            let rest = entry.name.strip_prefix(own).unwrap_or(&entry.name);
            entry.name = format!("{name}{rest}");
            attributes.uri = format!("skill://{name}/{path}");
        }
    }
    entry
}
