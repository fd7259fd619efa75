//! Plans a sync: merges each item, and decides which files the folder gets.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::base::{entry_of, plain};
use super::contents::{Contents, There};
use super::files::{self, Changes, FileWrite};
use super::links::Links;
use super::listing::Listing;
use super::moves::{self, Moves};
use super::names::{self, Names};
use super::servers;
use super::step::{Act, Step};
use crate::export::layout::Layout;
use crate::item::conflict;
use crate::item::server;
use crate::item::{Entry, Origin, What};
use crate::merge::{self, Content, Outcome, Side, Version};
use crate::stored::{self, Stored};
use mcpkg_base::error::{Error, Result};
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, Action, Proposal, State};
use mcpkg_store::syncs::{Base, Known};
use mcpkg_store::{Db, blobs};

#[derive(Debug)]
pub(super) struct Plan {
    /// One step for each item, sorted by path.
    pub(super) steps: Vec<Step>,
    pub(super) links: Links,
    /// The files to write or delete in the folder.
    pub(super) writes: Vec<FileWrite>,
    /// The changes to the MCP servers in the manifest.
    pub(super) listings: Vec<Listing>,
    /// The names of MCP servers that are disabled because somebody else added or changed them.
    pub(super) switched_off: Vec<String>,
    /// The files that were moved in the folder, and the bases after these moves.
    pub(super) moved: (Moves, Vec<Base>),
    pub(super) first_manifest: bool,
}

impl Plan {
    /// Plans a sync. Fails if two files of the folder would have the same name.
    pub(super) fn new(db: &Db<'_>, project: &Project, contents: &Contents, before: &Known) -> Result<Self> {
        let stored = stored::all(db, project)?;
        let mut names = Names::of(&stored);
        let (bases, left) = moves::followed(db, contents, &before.bases)?;
        let mut given_up = HashSet::new();
        let prompts = stored.iter().filter(|stored| stored.entry.what.is_prompt());
        let prompts: HashMap<String, &Stored> = prompts.map(|stored| (stored.key(), stored)).collect();
        for base in &bases {
            if let Some(ours) = prompts.get(&base.item)
                && moves::gives_up(db, contents, base, ours)?
            {
                given_up.insert(base.path.as_str());
            }
        }
        let known: Vec<&Base> = bases.iter().filter(|base| !given_up.contains(base.path.as_str())).collect();
        let (mut ours, listed) = paths(stored, contents, &known);
        let kept: BTreeMap<&str, &Base> = bases.iter().map(|base| (base.path.as_str(), base)).collect();
        let mut paths: BTreeSet<&str> = kept.keys().copied().collect();
        paths.extend(contents.items.keys().map(String::as_str));
        paths.extend(contents.skipped.keys().map(String::as_str));
        let new: Vec<String> = ours.keys().cloned().collect();
        paths.extend(new.iter().map(String::as_str));
        let mut steps = Vec::new();
        for path in paths {
            let (there, kept) = (contents.items.get(path), kept.get(path).copied());
            let mut step = step(db, project, path, there, ours.remove(path), kept, contents)?;
            if given_up.contains(path) && step.ours.is_none() && matches!(step.act, Act::ProposeDeleteFile) {
                step.act = Act::DeleteFile;
            }
            if let Some(why) = names.refuse(&step, there) {
                step.act = Act::Skip(why);
            }
            steps.push(step);
        }
        names::hold_back(&mut steps, contents);
        servers::lay(&mut steps, contents)?;
        let links = Links::new(db, project, contents, &before.links, &steps)?;
        let first_manifest = !contents.listed.exists;
        let Changes { mut writes, listings } = files::missing(&mut steps, contents, &listed, first_manifest)?;
        files::have_copies_follow(&mut writes, contents);
        let switched_off = servers::switched_off(&steps, contents)?;
        let moved = moves::settle(left, &bases, &steps);
        Ok(Self { steps, links, writes, listings, switched_off, moved, first_manifest })
    }

    /// Returns whether anything is written to the folder.
    pub(super) fn writes_anything(&self) -> bool {
        self.first_manifest || !self.writes.is_empty() || !self.listings.is_empty() || !self.links.make.is_empty()
    }

    /// Returns whether anything changes in the project or the folder, or is proposed.
    pub(super) fn does_anything(&self) -> bool {
        self.writes_anything() || self.links.does_anything() || self.steps.iter().any(|step| step.act.does_something())
    }

    /// Returns whether a step is skipped. Its reason may disappear without any change to the file.
    pub(super) fn lets_be(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.act, Act::Skip(_)))
    }
}

/// Returns the project's items by path, and the paths that the manifest has to list. Synced items keep their paths. A new item
/// gets the path of the file with the same URI or name, otherwise the path that an export would use.
fn paths(stored: Vec<Stored>, contents: &Contents, bases: &[&Base]) -> (BTreeMap<String, Stored>, HashSet<String>) {
    let known: HashMap<&str, &str> = bases.iter().map(|base| (base.item.as_str(), base.path.as_str())).collect();
    let known_paths: HashSet<&str> = known.values().copied().collect();
    let (mut by_name, mut by_uri) = (HashMap::new(), HashMap::new());
    for (path, there) in contents.items.iter().filter(|(path, _)| !known_paths.contains(path.as_str())) {
        by_name.insert((there.entry.what.word(), there.entry.name.as_str()), path);
        if let Some(uri) = there.entry.what.uri() {
            by_uri.insert(uri, path);
        }
    }
    let mut layout = Layout::default();
    let taken = contents.items.keys().chain(contents.skipped.keys()).chain(&contents.disk.others);
    for path in taken.map(String::as_str).chain(known_paths.iter().copied()) {
        layout.claim(path.trim_end_matches('/'));
    }
    let (mut ours, mut listed) = (BTreeMap::new(), HashSet::new());
    let mut new = Vec::new();
    for stored in stored {
        let key = stored.key();
        let entry = &stored.entry;
        let twin = || {
            let uri = entry.what.uri().and_then(|uri| by_uri.get(uri));
            uri.or_else(|| by_name.get(&(entry.what.word(), entry.name.as_str())))
        };
        match known.get(key.as_str()).map(|path| (*path).to_owned()).or_else(|| twin().map(|path| (*path).clone())) {
            Some(path) if !ours.contains_key(&path) => drop(ours.insert(path, stored)),
            _ => new.push(stored),
        }
    }
    for stored in new {
        if stored.entry.what == What::Server {
            let is_taken = |path: &str| known_paths.contains(path) || ours.contains_key(path);
            let path = server::free_path(&stored.entry.name, is_taken);
            ours.insert(path, stored);
            continue;
        }
        let (path, is_own) = layout.place(&stored.entry);
        if !is_own {
            listed.insert(path.clone());
        }
        ours.insert(path, stored);
    }
    (ours, listed)
}

fn step(
    db: &Db<'_>,
    project: &Project,
    path: &str,
    there: Option<&There>,
    ours: Option<Stored>,
    kept: Option<&Base>,
    contents: &Contents,
) -> Result<Step> {
    let proposal = kept.and_then(|kept| kept.proposal);
    let proposal = proposal.map(|id| proposals::get(db, project.id, id)).transpose()?.flatten();
    let base = basis(kept, proposal.as_ref());
    let label = ours
        .as_ref()
        .map(|ours| &ours.entry)
        .or(there.map(|there| &there.entry))
        .or(base.as_ref().map(|(entry, _)| entry));
    let label = label.map_or_else(|| path.to_owned(), |entry| format!("{} '{}'", word(entry), entry.name));
    let unread = servers::unread(there, ours.as_ref(), contents);
    let act = match contents.skipped.get(path).map(|(why, _)| why.clone()).or(unread) {
        Some(why) => Act::Skip(why),
        None if contents.disk.others.contains(path) && !contents.disk.links.contains_key(path) => {
            Act::Skip(NO_FILE.to_owned())
        }
        None => match act(db, there, ours.as_ref(), base.as_ref(), proposal.as_ref())? {
            Act::Give(..) | Act::Merge(..) | Act::DeleteFile if there.is_some_and(There::says_more) => {
                Act::Skip(SAYS_MORE.to_owned())
            }
            Act::Take | Act::Merge(..) | Act::ProposeChange(_) | Act::ProposeDeleteFile
                if there.is_some_and(There::is_unmerged) =>
            {
                Act::Skip(conflict::WHY.to_owned())
            }
            Act::Give(..) | Act::Merge(..) if contents.disk.others.contains(path) => Act::Skip(IS_LINK.to_owned()),
            act if act.does_something() && contents.disk.unmerged.contains(path) => {
                Act::Skip(conflict::UNRESOLVED.to_owned())
            }
            act => act,
        },
    };
    Ok(Step { path: path.to_owned(), label, ours, kept: kept.cloned(), base, act })
}

/// The reason to skip something that has replaced a regular file.
const NO_FILE: &str = "is no longer a regular file";

/// The reason to skip a link at the path of a file that would be written.
const IS_LINK: &str = "is a link, and sync never replaces links; delete the link to get the file back";

/// The reason not to write an agent's file that contains more than the project stores.
const SAYS_MORE: &str = "contains values or settings that the project does not store, so writing the file would \
    lose them; replace the values with variables, or edit the file by hand";

fn word(entry: &Entry) -> &'static str {
    match entry.what.uri().and_then(|uri| uri.split_once("://")) {
        Some(("skill", _)) => "skill file",
        Some(("instructions", _)) => "instructions",
        Some(("subagent", _)) => "subagent",
        _ if entry.what == What::Server => "MCP server",
        _ => entry.what.word(),
    }
}

/// Returns the base: the version at the last sync or, once a person has decided on a proposal, the proposed version. After a
/// decision, only later edits count as changes.
fn basis(kept: Option<&Base>, proposal: Option<&Proposal>) -> Option<(Entry, i64)> {
    let kept = kept?;
    match proposal {
        Some(proposal) if proposal.state != State::Open => match (proposal.action, proposal.state) {
            (Action::Delete, _) | (Action::DeleteFile, State::Rejected) => None,
            _ => proposed(proposal),
        },
        _ => entry_of(kept).zip(kept.version.as_ref().map(|(_, blob)| *blob)),
    }
}

fn proposed(proposal: &Proposal) -> Option<(Entry, i64)> {
    let entry: Entry = serde_json::from_str(proposal.entry.as_deref()?).ok()?;
    Some((plain(&entry), proposal.blob?))
}

fn act(
    db: &Db<'_>,
    there: Option<&There>,
    ours: Option<&Stored>,
    base: Option<&(Entry, i64)>,
    proposal: Option<&Proposal>,
) -> Result<Act> {
    if let (Some(there), Some(ours)) = (there, ours)
        && there.entry.what.word() != ours.entry.what.word()
    {
        let (theirs, ours) = (there.entry.what.word(), ours.entry.what.word());
        return Ok(Act::Skip(format!("is a {ours} in the project, but a {theirs} in the folder")));
    }
    let entries = (there.map(|there| plain(&there.entry)), ours.map(|ours| plain(&ours.entry)));
    let theirs = there.zip(entries.0.as_ref());
    let theirs = theirs.map(|(there, entry)| Version { entry, sha256: there.content.sha256() });
    let here = match ours.zip(entries.1.as_ref()) {
        Some((ours, entry)) => Some(Version { entry, sha256: stored::sha256(db, ours)? }),
        None => None,
    };
    let before = match base {
        Some((entry, blob)) => Some(Version { entry, sha256: blobs::sha256(db, *blob)? }),
        None => None,
    };
    let load = |side| match (side, there, ours, base) {
        (Side::Theirs, Some(there), ..) => Ok(there.content.bytes()?.into_owned()),
        (Side::Ours, _, Some(ours), _) => ours.content(db),
        (Side::Base, .., Some((_, blob))) => blobs::get(db, *blob),
        _ => Ok(Vec::new()),
    };
    // Returns whether an open proposal already contains the same change to the same version.
    let waits = |action: Action, what: Option<(&Entry, [u8; 32])>| -> Result<bool> {
        let Some(open) = proposal.filter(|proposal| proposal.state == State::Open && proposal.action == action) else {
            return Ok(false);
        };
        let same = match (proposed(open), what) {
            (Some((entry, blob)), Some((theirs, sha256))) => entry == *theirs && blobs::sha256(db, blob)? == sha256,
            (None, None) => true,
            _ => false,
        };
        let is_base = match (ours, open.base) {
            (Some(ours), Some(base)) => ours.holds(db, base)?,
            (ours, base) => ours.is_none() && base.is_none(),
        };
        Ok(same && is_base)
    };
    let what = theirs.map(|version| (version.entry, version.sha256));
    let or_wait = |action, what, act| Ok::<_, Error>(if waits(action, what)? { Act::Wait } else { act });
    Ok(match merge::merge(before, theirs, here, load)? {
        Outcome::Unchanged if there.is_none() => Act::Forget,
        Outcome::Unchanged => Act::Same,
        Outcome::Taken => Act::Take,
        Outcome::Kept => match ours {
            Some(ours) => Act::Give(ours.entry.clone(), NewContent::from(ours.content(db)?)),
            None => Act::Same,
        },
        Outcome::Merged(merged) => {
            let content = match (merged.content, there) {
                (Content::Of(Side::Theirs), Some(there)) => there.content.clone(),
                (Content::New(bytes), _) => NewContent::from(bytes),
                _ => NewContent::from(load(Side::Ours)?),
            };
            let lay = ours.map(|ours| ours.entry.origin.clone()).unwrap_or_default();
            let origin = Origin { applies: merged.entry.origin.applies.clone(), ..lay };
            let entry = Entry { origin, ..merged.entry };
            match stored::check(&entry, &content) {
                Ok(()) => Act::Merge(entry, content),
                // The merged content is not valid; for example, a template no longer parses.
                Err(_) => or_wait(Action::Change, what, Act::ProposeChange(vec!["content"]))?,
            }
        }
        Outcome::Conflict(parts) => or_wait(Action::Change, what, Act::ProposeChange(parts))?,
        Outcome::DeletedThere { .. } => or_wait(Action::Delete, None, Act::ProposeDelete)?,
        Outcome::DeletedHere { changed } => {
            let accepted = |proposal: &Proposal| {
                proposal.action == Action::DeleteFile && proposal.state == State::Accepted && !changed
            };
            match proposal.is_some_and(accepted) {
                true => Act::DeleteFile,
                false => or_wait(Action::DeleteFile, what, Act::ProposeDeleteFile)?,
            }
        }
    })
}
