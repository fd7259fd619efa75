//! Resolves paths relative to a folder, without ever leaving that folder. The file systems in memory have no links.

use super::super::errno::{Answer, Errno};
use super::tree::{Id, Tree};

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 255;

/// The location of a file or folder that may not exist yet: its folder, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'p> {
    pub folder: Id,
    pub name: &'p str,
    /// Whether the path ends in `/`, so that it must be a folder.
    pub says_folder: bool,
}

/// Returns the file or folder at a path.
pub fn find(tree: &Tree, base: Id, path: &str) -> Answer<Id> {
    let found = walk(tree, base, path)?;
    if path.ends_with('/') && !tree.facts(found)?.is_folder { Err(Errno::NOTDIR) } else { Ok(found) }
}

/// Returns the location that a path names; only its parent folder must exist.
pub fn place<'p>(tree: &Tree, base: Id, path: &'p str) -> Answer<Place<'p>> {
    let whole = path.trim_end_matches('/');
    let (above, name) = whole.rsplit_once('/').unwrap_or(("", whole));
    if path.starts_with('/') {
        return Err(Errno::NOTCAPABLE);
    }
    match name {
        "" => return Err(Errno::NOENT),
        // `.` and `..` name an existing folder, but nothing can be created under these names.
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
    // The folders from the base to the current position.
    let mut way = vec![base];
    for part in path.split('/') {
        let at = way.last().copied().unwrap_or(base);
        match part {
            // Skip the empty part. A `/` at the end is checked by the caller.
            "" => continue,
            "." => drop(tree.entries(at)?),
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
