//! Records links, copies and forms in an imported tree. They are not items, but an export writes them again. A form is a file
//! that means the same as another but has different bytes; see docs/adr/0043-links-and-copies.md.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::import::paths::Destination;
use crate::import::place::Understood;
use crate::item::File;
use crate::item::Item;
use mcpkg_base::error::Result;
use mcpkg_store::links::{self as stored_links, Form, Link, Target};
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, blobs};

pub type Contents = HashMap<[u8; 32], NewContent>;

/// Returns the copies and forms among `files`, which must be sorted by path, and the contents of the forms. A file that an item
/// represents only in part counts as a form.
pub fn among(understood: &Understood, files: &[(File, Option<Destination>)]) -> (Vec<Link>, Contents) {
    // Skip the files of single agents: they may contain secrets, so their original bytes are never stored.
    let find = |path: &str| {
        let at = files.binary_search_by(|(file, _)| file.relative.as_str().cmp(path)).ok()?;
        let (file, place) = &files[at];
        place.as_ref().is_some_and(|place| place.kept.is_none()).then_some(file)
    };
    let partial: HashSet<&String> = understood.partial.iter().collect();
    let mut all: BTreeMap<&String, &String> = partial.iter().map(|path| (*path, *path)).collect();
    all.extend(understood.same.iter().map(|(path, other)| (path, other)));
    let (mut found, mut contents) = (Vec::new(), Contents::new());
    for (path, of) in all {
        let (Some(file), Some(original)) = (find(path), find(of)) else { continue };
        // A copy needs an original that its item restores completely.
        let is_copy = file.content == original.content && file.executable == original.executable;
        let target = if is_copy && !partial.contains(of) {
            Target::Copy(of.clone())
        } else {
            let sha256 = file.content.sha256();
            contents.insert(sha256, file.content.clone());
            Target::Form(Form { of: of.clone(), sha256, executable: file.executable })
        };
        found.push(Link { path: path.clone(), target });
    }
    (found, contents)
}

/// The links, copies and forms of an imported tree.
#[derive(Clone, Copy)]
pub struct SecondPlaces<'l> {
    /// The links, copies and forms that were found.
    pub found: &'l [Link],
    /// The contents of the forms.
    pub contents: &'l Contents,
    /// Duplicates: the path of the file, and the path of the file that it equals.
    pub same: &'l [(String, String)],
    /// Whether the whole tree was read. Only then does a missing copy count as deleted.
    pub is_whole: bool,
}

/// Returns the links, copies and forms to add, and those to delete: another file is now at their path, or they no longer are a
/// copy or form of a file in the tree.
fn differences<'l>(
    known: &'l [Link],
    SecondPlaces { found, is_whole, .. }: SecondPlaces<'l>,
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
        _ if !is_whole => false,
        _ if files.contains(link.path.as_str()) => true,
        Target::Copy(of) | Target::Form(Form { of, .. }) => is_seen(of),
        Target::Link(_) => false,
    };
    (new, known.iter().filter(is_gone).collect())
}

/// Returns whether there are links, copies or forms to add or delete. `known` must be sorted by path.
pub fn changes(known: &[Link], found: SecondPlaces<'_>, items: &[Item]) -> bool {
    let (new, gone) = differences(known, found, items);
    !new.is_empty() || !gone.is_empty()
}

/// Stores the links, copies and forms of a tree, and deletes outdated ones.
pub fn keep(db: &Db<'_>, project: &Project, found: SecondPlaces<'_>, items: &[Item]) -> Result<()> {
    let known = stored_links::all(db, project.id)?;
    let (new, gone) = differences(&known, found, items);
    for link in new {
        if let Target::Form(form) = &link.target
            && let Some(content) = found.contents.get(&form.sha256)
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
