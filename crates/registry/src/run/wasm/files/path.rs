//! Paths: each is relative to a folder, and none leads out of it. There are no links.

use super::super::errno::{Answer, Errno};
use super::tree::{Id, Tree};

/// Bytes of the longest name.
const MAX_NAME: usize = 255;

/// The place of a file or folder that may be there: a folder, and a name in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'p> {
    pub folder: Id,
    pub name: &'p str,
    /// Whether the path says that it is a folder, by a `/` at its end.
    pub says_folder: bool,
}

/// Returns what a path below a folder leads to.
pub fn find(tree: &Tree, base: Id, path: &str) -> Answer<Id> {
    let found = walk(tree, base, path)?;
    if path.ends_with('/') && !tree.facts(found)?.is_folder { Err(Errno::NOTDIR) } else { Ok(found) }
}

/// Returns the place that a path below a folder names, whose folder is there.
pub fn place<'p>(tree: &Tree, base: Id, path: &'p str) -> Answer<Place<'p>> {
    let whole = path.trim_end_matches('/');
    let (above, name) = whole.rsplit_once('/').unwrap_or(("", whole));
    if path.starts_with('/') {
        return Err(Errno::NOTCAPABLE);
    }
    match name {
        "" => return Err(Errno::NOENT),
        // What they name is there, and is not a name in its folder.
        "." | ".." => {
            walk(tree, base, whole)?;
            return Err(Errno::INVAL);
        }
        name if name.len() > MAX_NAME => return Err(Errno::NAMETOOLONG),
        _ => {}
    }
    let folder = if above.is_empty() { base } else { walk(tree, base, above)? };
    tree.entries(folder)?;
    Ok(Place { folder, name, says_folder: whole.len() < path.len() })
}

fn walk(tree: &Tree, base: Id, path: &str) -> Answer<Id> {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    if path.starts_with('/') {
        return Err(Errno::NOTCAPABLE);
    }
    // The folders from the base to where the path leads by now.
    let mut way = vec![base];
    for part in path.split('/') {
        let at = way.last().copied().unwrap_or(base);
        match part {
            // A file has neither.
            "" | "." => continue,
            ".." if way.len() == 1 => return Err(Errno::NOTCAPABLE),
            ".." => {
                tree.entries(at)?;
                way.pop();
            }
            name if name.len() > MAX_NAME => return Err(Errno::NAMETOOLONG),
            name => way.push(*tree.entries(at)?.get(name).ok_or(Errno::NOENT)?),
        }
    }
    Ok(way.last().copied().unwrap_or(base))
}
