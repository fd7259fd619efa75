//! Cleans up after a checkout that failed halfway.
//!
//! git writes the files first, and the index and the branch last. After a full disk, a failing filter or a power cut,
//! some files are new while the old commit is still checked out.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::command::Git;
use super::paths::{parts, path};
use crate::error::{Error, Result};
use crate::file;

/// The largest file that is compared, in bytes. Larger files are left alone.
const LARGEST: u64 = 64 << 20;

/// Restores files of the checked-out commit `from` that an interrupted checkout of `to` wrote or removed. Returns the
/// paths that it leaves unchanged: files that match neither commit, because somebody has edited them, and paths where a
/// folder now exists. If somebody has edited files but the checkout wrote none, the checkout had not started. Then
/// nothing is restored, and no path is returned.
pub fn put_back(git: &Git<'_>, from: &str, to: &str) -> Result<Vec<PathBuf>> {
    let printed = git.run(&["diff-tree", "-r", "-z", "--name-status", "--no-renames", from, to, "--"])?;
    let words: Vec<&[u8]> = parts(&printed).collect();
    let printed = git.run(&["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules"])?;
    let differing: BTreeSet<PathBuf> = parts(&printed).map(path).collect();
    let (mut missing, mut written, mut stay) = (Vec::new(), Vec::new(), Vec::new());
    for change in words.chunks_exact(2) {
        let (is_added, name) = (change[0] == b"A", path(change[1]));
        if !is_added && !differing.contains(&name) {
            continue;
        }
        let place = git.folder().join(&name);
        let is_there = place.symlink_metadata().is_ok() && !is_below_link(git.folder(), &name);
        match (is_there, is_added) {
            (false, true) => {}
            (false, false) => missing.push(name),
            // A folder exists at this path. The files in the folder have their own entries in `words`.
            (true, _) if place.is_dir() && !place.is_symlink() => missing.extend((!is_added).then_some(name)),
            (true, _) if is_of(git, to, &name, &place)? => {
                written.push(place);
                missing.extend((!is_added).then_some(name));
            }
            (true, _) => stay.push(name),
        }
    }
    if written.is_empty() && !stay.is_empty() {
        // The edits are older than the checkout. git refuses to overwrite them, so the checkout did not start.
        return Ok(Vec::new());
    }
    for place in written {
        std::fs::remove_file(&place).map_err(|error| Error::file("remove", &place, error))?;
        remove_empty(git.folder(), &place);
    }
    // Skip folders at these paths, because git would remove them with all their files.
    let (in_the_way, missing): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|name| git.folder().join(name).is_dir() && !is_link(&git.folder().join(name)));
    stay.extend(in_the_way);
    if !missing.is_empty() {
        let names: Vec<u8> =
            missing.iter().flat_map(|name| [name.as_os_str().as_encoded_bytes(), b"\0"].concat()).collect();
        git.feed(&["checkout-index", "--force", "--quiet", "-z", "--stdin"], &names)?;
    }
    Ok(stay)
}

/// Whether a file has the content of a commit's file at this path, or the beginning of that content.
fn is_of(git: &Git<'_>, commit: &str, name: &Path, place: &Path) -> Result<bool> {
    let failed = |error| Error::file("read", place, error);
    let bytes = match std::fs::read_link(place) {
        Ok(target) => target.into_os_string().into_encoded_bytes(),
        Err(_) => match file::read(place, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => return Ok(false),
            Err(error) => return Err(failed(error)),
        },
    };
    let mut object = OsString::from(format!("{commit}:"));
    object.push(name);
    // Compare with the committed content, and with the output of the filter. If the filter fails here, it wrote nothing in the
    // checkout either.
    let is_begun = |kind: &str| {
        let args = [OsStr::new("cat-file"), OsStr::new(kind), &object];
        git.run(&args).is_ok_and(|whole| whole.starts_with(&bytes))
    };
    Ok(is_begun("blob") || is_begun("--filters"))
}

fn is_link(place: &Path) -> bool {
    place.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

/// Whether a parent folder of the path is a link, so that the path leads elsewhere.
fn is_below_link(top: &Path, name: &Path) -> bool {
    name.ancestors().skip(1).any(|folder| is_link(&top.join(folder)) && !folder.as_os_str().is_empty())
}

/// Removes the parent folders of a file that are now empty.
fn remove_empty(top: &Path, place: &Path) {
    for folder in place.ancestors().skip(1).take_while(|folder| *folder != top) {
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
