//! Plans a sync: merges each item, and decides which files are written to the folder.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::contents::Contents;
use super::files::Changes;
use super::links::Links;
use super::moves::Moves;
use super::names::Names;
use super::step::{Act, Step};
use super::{decide, files, moves, names, servers};
use crate::export::layout::Layout;
use crate::item::{What, server};
use crate::stored::{self, Stored};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::syncs::{Base, Known};

#[derive(Debug)]
pub(super) struct Plan {
    /// One step for each item, sorted by path.
    pub(super) steps: Vec<Step>,
    pub(super) links: Links,
    /// The changes to make in the folder.
    pub(super) changes: Changes,
    /// The names of MCP servers that the sync disables, because somebody else added or changed them.
    pub(super) switched_off: Vec<String>,
    /// The moves of files in the folder, and the bases after these moves.
    pub(super) moved: (Moves, Vec<Base>),
    pub(super) first_manifest: bool,
}

impl Plan {
    /// Plans a sync without changing anything.
    pub(super) fn new(db: &Db<'_>, project: &Project, contents: &Contents, before: &Known) -> Result<Self> {
        let stored = stored::all(db, project)?;
        let mut names = Names::of(&stored);
        let (bases, moved) = moves::followed(db, contents, &before.bases)?;
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
        let recorded: BTreeMap<&str, &Base> = bases.iter().map(|base| (base.path.as_str(), base)).collect();
        let mut paths: BTreeSet<&str> = recorded.keys().copied().collect();
        paths.extend(contents.items.keys().map(String::as_str));
        paths.extend(contents.skipped.keys().map(String::as_str));
        let new: Vec<String> = ours.keys().cloned().collect();
        paths.extend(new.iter().map(String::as_str));
        let mut steps = Vec::new();
        for path in paths {
            let there = contents.items.get(path);
            let base = recorded.get(path).copied();
            let mut step = decide::step(db, project, path, there, ours.remove(path), base, contents)?;
            if given_up.contains(path) && step.ours.is_none() && matches!(step.act, Act::ProposeDeleteFile) {
                step.act = Act::DeleteFile;
            }
            if let Some(why) = names.refuse(&step, there) {
                step.act = Act::Skip(why);
            }
            steps.push(step);
        }
        names::hold_back(&mut steps, contents);
        servers::set_paths(&mut steps, contents)?;
        let links = Links::new(db, project, contents, &before.links, &steps)?;
        let first_manifest = !contents.listed.exists;
        let mut changes = files::missing(&mut steps, contents, &listed, first_manifest)?;
        files::have_copies_follow(&mut changes.writes, contents);
        let switched_off = servers::switched_off(&steps, contents)?;
        let moved = moves::settle(moved, &bases, &steps);
        Ok(Self { steps, links, changes, switched_off, moved, first_manifest })
    }

    pub(super) fn writes_anything(&self) -> bool {
        self.first_manifest
            || !self.changes.writes.is_empty()
            || !self.changes.listings.is_empty()
            || !self.links.make.is_empty()
    }

    /// Returns whether anything changes in the project or the folder, or is proposed.
    pub(super) fn does_anything(&self) -> bool {
        self.writes_anything() || self.links.does_anything() || self.steps.iter().any(|step| step.act.does_something())
    }

    /// Returns whether any step is skipped. The next sync has to check such a step again, because the reason may
    /// disappear without a change to the file.
    pub(super) fn lets_be(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.act, Act::Skip(_)))
    }
}

/// Returns the project's items by path, and the paths that the manifest has to list. Items that were synced before keep their
/// paths. A new item gets the path of the file that has the same URI or name. Without such a file, it gets the path that an
/// export would choose.
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
        let same_name = || {
            let uri = entry.what.uri().and_then(|uri| by_uri.get(uri));
            uri.or_else(|| by_name.get(&(entry.what.word(), entry.name.as_str())))
        };
        match known.get(key.as_str()).map(|path| (*path).to_owned()).or_else(|| same_name().map(|path| (*path).clone()))
        {
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
