//! Second places of a tree, which an export makes again though no item lies there: links, copies, and files that say the same in other
//! bytes (docs/adr/0043-links-and-copies.md).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::item::{Item, Understood};
use super::place::Destination;
use super::scan::File;
use mcpkg_base::error::Result;
use mcpkg_store::links::{self as stored_links, Form, Link, Target};
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, blobs};

/// Contents by their SHA-256.
pub type Contents = HashMap<[u8; 32], NewContent>;

/// Returns the files among `files`, sorted by path, that are the same as others, and those of which items have a part; and
/// what those hold that are not copies.
pub fn among(understood: &Understood, files: &[(File, Option<Destination>)]) -> (Vec<Link>, Contents) {
    // What an agent's own file holds may be secret, and is not stored as it is.
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
        // An item has all of the file that it is one of, and may be written to it.
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

/// The second places of a tree.
#[derive(Clone, Copy)]
pub struct SecondPlaces<'l> {
    /// Those that were found: links, copies and forms.
    pub found: &'l [Link],
    /// What the forms among them hold.
    pub contents: &'l Contents,
    /// Files that are the same as another, with that.
    pub same: &'l [(String, String)],
    /// Whether the whole tree was looked at: a copy that was not found is then gone.
    pub is_whole: bool,
}

/// Returns the links, copies and forms that a tree adds, and those to forget: a file has taken their place, or they are no longer
/// a copy or form of a file of the tree.
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

/// Whether a tree brings second places, or has others no longer. `known` are sorted by path.
pub fn changes(known: &[Link], found: SecondPlaces<'_>, items: &[Item]) -> bool {
    let (new, gone) = differences(known, found, items);
    !new.is_empty() || !gone.is_empty()
}

/// Keeps the second places of the tree, and forgets those that are none any more.
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
