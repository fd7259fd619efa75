//! Stores the duplicates of a project's items, so that an export can write them again.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Duplicate;
use crate::item::{File, Item};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::links::{self as stored_links, Link, Target, Variant};
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, blobs};

/// The contents of variants by their SHA-256.
pub type Contents = HashMap<[u8; 32], NewContent>;

/// Returns the copies and variants to store, and the contents of the variants. A file in `partial` became several
/// items, or became an item only in part, so it counts as a variant of itself. `find` returns the file at a path if its
/// bytes may be stored.
pub fn among<'f>(
    same: &[Duplicate],
    partial: &[String],
    find: impl Fn(&str) -> Option<&'f File>,
) -> (Vec<Link>, Contents) {
    let partial: HashSet<&String> = partial.iter().collect();
    let mut all: BTreeMap<&String, &String> = partial.iter().map(|path| (*path, *path)).collect();
    all.extend(same.iter().map(|Duplicate { path, of }| (path, of)));
    let (mut found, mut contents) = (Vec::new(), Contents::new());
    for (path, of) in all {
        let (Some(file), Some(original)) = (find(path), find(of)) else { continue };
        // A copy is possible only if the item of the original restores the whole file.
        let is_copy = file.content == original.content && file.executable == original.executable;
        let target = if is_copy && !partial.contains(of) {
            Target::Copy(of.clone())
        } else {
            let sha256 = file.content.sha256();
            contents.insert(sha256, file.content.clone());
            Target::Variant(Variant { of: of.clone(), sha256, executable: file.executable })
        };
        found.push(Link { path: path.clone(), target });
    }
    (found, contents)
}

/// The duplicates in an imported tree.
#[derive(Clone, Copy)]
pub struct Duplicates<'l> {
    /// All duplicates, in the form in which they are stored.
    pub found: &'l [Link],
    /// The contents of the variants.
    pub contents: &'l Contents,
    /// The paths of the copies and variants, and of links within the tree.
    pub same: &'l [Duplicate],
    /// Whether the whole tree was read. Only then does a missing copy mean that the copy was deleted.
    pub is_whole: bool,
}

/// Returns the duplicates to add, and those to delete. If the whole tree was read, a duplicate is deleted if its path
/// now belongs to an item. A copy or variant is also deleted if the tree has its original, but no longer the duplicate.
/// A [`Target::Altered`] is deleted as soon as its file is stored without changes.
fn differences<'l>(
    known: &'l [Link],
    Duplicates { found, is_whole, .. }: Duplicates<'l>,
    items: &'l [Item],
) -> (Vec<&'l Link>, Vec<&'l Link>) {
    let is_new = |link: &&Link| {
        known.binary_search_by(|other| other.path.cmp(&link.path)).map_or(true, |at| known[at] != **link)
    };
    let new = found.iter().filter(is_new).collect();
    if known.is_empty() {
        return (new, Vec::new());
    }
    let files: HashSet<&str> = items.iter().map(|item| item.path.as_str()).collect();
    let there: HashSet<&str> = found.iter().map(|link| link.path.as_str()).collect();
    let is_seen = |path: &str| files.contains(path) || there.contains(path);
    let is_gone = |link: &&Link| match &link.target {
        _ if there.contains(link.path.as_str()) => false,
        // The file at this path was read, and is stored without changes now.
        Target::Altered(_) => files.contains(link.path.as_str()),
        _ if !is_whole => false,
        _ if files.contains(link.path.as_str()) => true,
        Target::Copy(of) | Target::Variant(Variant { of, .. }) => is_seen(of),
        Target::Link(_) => false,
    };
    (new, known.iter().filter(is_gone).collect())
}

/// Returns whether there are duplicates to add or delete. `known` must be sorted by path.
pub fn changes(known: &[Link], found: Duplicates<'_>, items: &[Item]) -> bool {
    let (new, gone) = differences(known, found, items);
    !new.is_empty() || !gone.is_empty()
}

/// Stores the duplicates of a tree, and deletes outdated ones.
pub fn keep(db: &Db<'_>, project: &Project, found: Duplicates<'_>, items: &[Item]) -> Result<()> {
    let known = stored_links::all(db, project.id)?;
    let (new, gone) = differences(&known, found, items);
    for link in new {
        if let Target::Variant(variant) = &link.target
            && let Some(content) = found.contents.get(&variant.sha256)
        {
            blobs::put_source(db, content)?;
        }
        stored_links::put(db, project.id, link)?;
    }
    for link in gone {
        stored_links::delete(db, project.id, &link.path)?;
    }
    Ok(())
}
