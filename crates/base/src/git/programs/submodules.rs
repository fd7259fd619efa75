//! Finds the submodules of a repository. git also reads their configuration when it examines the files of the
//! repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use memchr::memmem;

use crate::error::Result;
use crate::file;
use crate::git::failure::{ended, failed, printed};
use crate::git::folder::Folders;
use crate::git::paths::{parts, path};
use crate::git::plain::plain;
use crate::process::Limits;

/// The largest index that is searched, in bytes.
const LARGEST_INDEX: u64 = 256 << 20;

/// How deeply submodules may be nested.
const DEPTH: usize = 10;

/// The file mode of a submodule in the index.
const MODE: &[u8] = &[0, 0, 0xe0, 0];

/// The name of the index extension that refers to another index file with more entries.
const LINK: &[u8] = b"link";

/// Returns the git folders of a repository's submodules, and of their submodules.
///
/// # Errors
/// The errors of git: `E_GIT_FAILED`, `E_GIT_NOT_FOUND`, `E_CANCELLED`.
pub(super) fn of(kept: &Folders, limits: &Limits<'_>) -> Result<Vec<Folders>> {
    let mut found = Vec::new();
    for modules in [kept.own.join("modules"), kept.shared.join("modules")] {
        below(&modules, DEPTH, &mut found);
    }
    // A submodule's git folder may also be in the work tree, or elsewhere.
    linked(kept, DEPTH, limits, &mut found)?;
    Ok(found)
}

fn below(folder: &Path, depth: usize, found: &mut Vec<Folders>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        found.extend(Folders::of_submodule(&path));
        if depth > 0 && path.is_dir() && !path.ends_with("objects") && !path.ends_with("refs") {
            below(&path, depth - 1, found);
        }
    }
}

/// Adds the submodules listed in the index of a work tree.
fn linked(kept: &Folders, depth: usize, limits: &Limits<'_>, found: &mut Vec<Folders>) -> Result<()> {
    let Some(top) = &kept.top else { return Ok(()) };
    for name in names(top, &kept.own.join("index"), limits)? {
        let Some(submodule) = Folders::below(&top.join(name)) else { continue };
        if depth > 0 && !found.contains(&submodule) {
            found.push(submodule.clone());
            linked(&submodule, depth - 1, limits, found)?;
        }
    }
    Ok(())
}

/// Returns the paths of the submodules in an index. Caches the result until the index changes.
fn names(top: &Path, index: &Path, limits: &Limits<'_>) -> Result<Vec<PathBuf>> {
    type Stamp = (u64, Option<std::time::SystemTime>);
    type Seen = HashMap<PathBuf, (Stamp, Vec<PathBuf>)>;
    static SEEN: Mutex<Option<Seen>> = Mutex::new(None);
    let Ok(metadata) = std::fs::metadata(index) else { return Ok(Vec::new()) };
    let stamp = (metadata.len(), metadata.modified().ok());
    let known = SEEN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|seen| seen.get(index).cloned());
    if let Some((_, names)) = known.filter(|(known, _)| *known == stamp) {
        return Ok(names);
    }
    let bytes = file::read(index, LARGEST_INDEX).ok();
    // If the index cannot be read, assume that it contains submodules.
    let may_have = bytes.is_none_or(|bytes| [MODE, LINK].iter().any(|part| memmem::find(&bytes, part).is_some()));
    let names = if may_have { listed(top, limits)? } else { Vec::new() };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = seen.get_or_insert_default();
    if seen.len() > 1_000 {
        seen.clear();
    }
    seen.insert(index.to_owned(), (stamp, names.clone()));
    Ok(names)
}

/// Returns the paths of the submodules as listed by git. This command only reads the index and runs no programs.
fn listed(top: &Path, limits: &Limits<'_>) -> Result<Vec<PathBuf>> {
    let args = ["ls-files", "--stage", "-z", "--full-name", "--", ":/"];
    // Fetching a missing object could run a program, so forbid it.
    let git = plain(top, false, false, &args).variable("GIT_NO_LAZY_FETCH", "1").variable("GIT_ALLOW_PROTOCOL", "none");
    let output = git.run(&[], limits).map_err(|failure| ended(top, &args, limits, failure))?;
    if !output.status.success() {
        return Err(failed(top, &args, &output.status, &output.stderr));
    }
    let printed = printed(&args, output)?;
    let name = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'\t').filter(|_| line.starts_with(b"160000 "))?;
        Some(path(&line[at + 1..]))
    };
    Ok(parts(&printed).filter_map(name).collect())
}
