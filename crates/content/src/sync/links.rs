//! Syncs links that mean the same to agents as their targets, such as `CLAUDE.md -> AGENTS.md`. A link in the project that
//! the folder never had is created in the folder. Apart from that, the project follows the folder. A sync never deletes or
//! replaces a link in the folder.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use super::contents::Contents;
use super::step::{Act, Step};
use crate::export::duplicates::{fitting_links, is_one_thing};
use crate::export::layout::Layout;
use crate::item::server;
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::links::{self, Link, Target};
use mcpkg_store::projects::Project;
use mcpkg_store::syncs::{self, Texts};

/// What a sync does with links. All maps contain targets by the path of the link.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The links to create in the folder.
    pub(super) make: Texts,
    /// The links that the project takes from the folder. `None` means that the link was deleted there.
    pub(super) take: BTreeMap<String, Option<String>>,
    /// The links to record as synced. `None` means that the link no longer exists.
    bases: BTreeMap<String, Option<String>>,
}

impl Links {
    /// Compares the links in the project, in the folder, and at the last sync.
    pub(super) fn new(
        db: &Db<'_>,
        project: &Project,
        contents: &Contents,
        bases: &Texts,
        steps: &[Step],
    ) -> Result<Self> {
        let all: Texts = links::all(db, project.id)?.into_iter().filter_map(text_of).collect();
        if all.is_empty() && bases.is_empty() && contents.disk.links.is_empty() {
            return Ok(Self::default());
        }
        let files: Vec<&str> = files_after(contents, steps).into_iter().collect();
        let mut layout = Layout::default();
        for path in
            files.iter().copied().chain(contents.disk.others.iter().chain(contents.skipped.keys()).map(String::as_str))
        {
            layout.claim(path.trim_end_matches('/'));
        }
        let own = all.iter().map(|(path, text)| link(path, text)).collect();
        let ours: Texts = fitting_links(own, &mut layout, &files).into_iter().filter_map(text_of).collect();
        // If an item's file has the same path as a link, the item's step decides.
        let of_items: HashSet<&str> = steps.iter().map(|step| step.path.as_str()).collect();
        let is_one = |path: &str, text: &str| !of_items.contains(path) && is_one_thing(&link(path, text), &files);
        let theirs: BTreeMap<&String, &String> =
            contents.disk.links.iter().filter(|(path, text)| is_one(path, text)).collect();
        let mut found = Self::default();
        let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys().copied()).chain(bases.keys()).collect();
        for path in paths {
            let (base, there) = (bases.get(path), theirs.get(path).copied());
            match there {
                // If the project does not have the link, somebody removed it through another folder. Do not add it again.
                Some(text) if base == Some(text) => {}
                Some(text) => {
                    if all.get(path) != Some(text) {
                        found.take.insert(path.clone(), Some(text.clone()));
                    }
                    found.bases.insert(path.clone(), Some(text.clone()));
                }
                // Do nothing if the link is unchanged and only its target is not an item any more.
                None if base.is_some() && contents.disk.links.get(path) == base => {}
                None if base.is_some() => {
                    if all.contains_key(path) {
                        found.take.insert(path.clone(), None);
                    }
                    found.bases.insert(path.clone(), None);
                }
                None => found.make.extend(ours.get(path).map(|text| (path.clone(), text.clone()))),
            }
        }
        Ok(found)
    }

    pub(super) fn does_anything(&self) -> bool {
        !self.make.is_empty() || !self.take.is_empty()
    }

    /// Returns a row of the report for each link that changes: action, link, path and reason.
    pub(super) fn rows(&self) -> impl Iterator<Item = [String; 4]> {
        let row = |action: &str, item: String, path: &str, why: &str| {
            [action.to_owned(), item, path.to_owned(), why.to_owned()]
        };
        let take = self.take.iter().map(move |(path, text)| match text {
            Some(text) => row("import", format!("link to {text}"), path, ""),
            None => row("update", "link".to_owned(), path, "was removed from the folder"),
        });
        take.chain(self.make.iter().map(move |(path, text)| row("write", format!("link to {text}"), path, "")))
    }

    /// Changes the links of the project, and records them as synced.
    pub(super) fn begin(&self, db: &Db<'_>, project: &Project, sync: i64) -> Result<()> {
        for (path, text) in &self.take {
            match text {
                Some(text) => links::put(db, project.id, &link(path, text))?,
                None => links::delete(db, project.id, path)?,
            }
        }
        for (path, text) in &self.bases {
            match text {
                Some(text) => syncs::put_link(db, sync, path, text)?,
                None => syncs::delete_base(db, sync, path)?,
            }
        }
        Ok(())
    }

    /// Creates the new links below `top`, which must be a real path. Skips paths that already exist. Returns the created
    /// links.
    pub(super) fn make(&self, top: &Path) -> Result<Vec<(&str, &str)>> {
        let mut folders = Folders::below(vec![top.to_path_buf()]);
        let mut made = Vec::new();
        for (path, text) in &self.make {
            let at = top.join(path);
            if let Some(folder) = at.parent() {
                folders.make_all(folder)?;
            }
            if let Some((folder, name)) = folders.holding(&at)?
                && folder.make_link(name, text)?
            {
                made.push((path.as_str(), text.as_str()));
            }
        }
        Ok(made)
    }
}

fn link(path: &str, text: &str) -> Link {
    Link { path: path.to_owned(), target: Target::Link(text.to_owned()) }
}

fn text_of(link: Link) -> Option<(String, String)> {
    match link.target {
        Target::Link(text) => Some((link.path, text)),
        // Copies and variants are not synced in this way, because a copy that is edited becomes an item of its own.
        Target::Copy(_) | Target::Variant(_) | Target::Altered(_) => None,
    }
}

/// Returns the paths that items' files will have after the folder is written.
fn files_after<'a>(contents: &'a Contents, steps: &'a [Step]) -> BTreeSet<&'a str> {
    let mut files: BTreeSet<&str> = contents.items.keys().map(String::as_str).collect();
    for step in steps {
        match step.act {
            Act::Give(..) => drop(files.insert(&step.path)),
            Act::DeleteFile => drop(files.remove(step.path.as_str())),
            _ => {}
        }
    }
    files.retain(|path| !server::is_path(path));
    files
}
