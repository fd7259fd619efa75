//! Writes the files of an apply.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::journal::Journal;
use crate::plan::{After, Change};
use mcpkg_base::disk::Stat;
use mcpkg_base::disk::attributes::Attributes;
use mcpkg_base::disk::folder::{Entry, Folder};
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::disk::syncs::Syncs;
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// Returns the missing folders that the changes need, outermost first. Fails if a folder is neither below nor above a
/// root.
pub(super) fn missing_folders(folders: &mut Folders, changes: &[Change]) -> Result<BTreeSet<PathBuf>> {
    let mut missing = BTreeSet::new();
    let mut last = None;
    for change in changes.iter().filter(|change| !matches!(change.after, After::Absent)) {
        // Most changes are in the same folder as the change before.
        let parent = change.path.parent().map(Path::as_os_str);
        if parent == std::mem::replace(&mut last, parent) {
            continue;
        }
        for folder in change.path.ancestors().skip(1) {
            if missing.contains(folder) || folders.is_there(folder)? {
                break;
            }
            missing.insert(folder.to_owned());
        }
    }
    Ok(missing)
}

/// Returns the attributes of replaced and removed files, other than their bytes and mode.
pub(super) fn attributes_of(folders: &mut Folders, changes: &[Change]) -> Result<Vec<Option<Attributes>>> {
    let of = |change: &Change| match change.before {
        PathState::File { .. } => Ok(folders.holding(&change.path)?.and_then(|(folder, name)| folder.attributes(name))),
        PathState::Absent | PathState::Link(_) | PathState::Other => Ok(None),
    };
    changes.iter().map(of).collect()
}

/// Writes the files. Returns each file's metadata just after the write, or `None` if the metadata would not reveal
/// later changes. On failure, also returns how many files it had begun to put in place.
///
/// No file is put in place before all new contents are on disk under temporary names: after a power loss, each file is
/// either the old one or the new one.
///
/// # Errors
/// The errors of the file system; `E_FILE_FAILED` also if a file changed after the plan was made; `E_CANCELLED`.
pub(super) fn write_all(
    context: &Context,
    journal: &Journal,
    changes: &[Change],
    missing: &BTreeSet<PathBuf>,
    folders: &mut Folders,
) -> Result<Vec<Option<Stat>>, (usize, Error)> {
    write_beside(context, journal, changes, missing, folders).map_err(|error| (0, error))?;
    let all = changes.len();
    let mut stats = Vec::with_capacity(all);
    for (seq, change) in changes.iter().enumerate() {
        refuse_cancelled(context).map_err(|error| (seq, error))?;
        let put = holding(folders, &change.path).and_then(|folder| put_one(journal, seq, change, &folder));
        stats.push(put.map_err(|error| (seq + 1, error))?);
        (context.progress)("Writing", seq as u64 + 1, all as u64);
    }
    check_all(changes, missing, folders, &mut stats).map_err(|error| (all, error))?;
    Ok(stats)
}

/// Makes the missing folders, and writes all new contents to disk under their temporary names.
fn write_beside(
    context: &Context,
    journal: &Journal,
    changes: &[Change],
    missing: &BTreeSet<PathBuf>,
    folders: &mut Folders,
) -> Result<()> {
    for folder in missing {
        refuse_cancelled(context)?;
        folders.make(folder)?;
    }
    let mut syncs = Syncs::default();
    for (seq, change) in changes.iter().enumerate() {
        let After::File { bytes, mode, .. } = &change.after else { continue };
        refuse_cancelled(context)?;
        // The new file keeps the owner of the file that it replaces.
        let replaced =
            || Attributes::from_column(journal.files[seq].attributes.as_deref()).map(Attributes::without_time);
        let attributes = change.attributes.clone().or_else(replaced);
        let folder = holding(folders, &change.path)?;
        let name = change.path.file_name().unwrap_or_default();
        let content = (&bytes[..], *mode, attributes.as_ref());
        folder.write_beside_with(name, &journal.beside(seq).0, content, &mut syncs)?;
        (context.progress)("Preparing", seq as u64 + 1, changes.len() as u64);
    }
    syncs.finish()
}

/// Syncs all folders, and checks that everything is where it was written.
fn check_all(
    changes: &[Change],
    missing: &BTreeSet<PathBuf>,
    folders: &mut Folders,
    stats: &mut [Option<Stat>],
) -> Result<()> {
    let touched = changes.iter().filter_map(|change| change.path.parent());
    folders.sync(touched.chain(missing.iter().filter_map(|folder| folder.parent())))?;
    for (change, stat) in changes.iter().zip(stats) {
        let there = entry(folders, &change.path)?;
        if there.is_none() && !matches!(change.after, After::Absent) {
            return Err(changed(&change.path));
        }
        *stat = there.and_then(|entry| entry.stat).filter(|there| Some(there) == stat.as_ref());
    }
    match folders.moved().first() {
        None => Ok(()),
        Some(moved) => Err(changed(&moved.path)),
    }
}

fn refuse_cancelled(context: &Context) -> Result<()> {
    match context.is_cancelled() {
        true => Err(Error::new(Code::Cancelled, "The deploy was cancelled")),
        false => Ok(()),
    }
}

/// Opens the folder that contains a file.
fn holding(folders: &mut Folders, path: &Path) -> Result<Rc<Folder>> {
    let gone = || disk::failed("write", path, std::io::ErrorKind::NotFound.into());
    Ok(folders.holding(path)?.ok_or_else(gone)?.0)
}

fn entry(folders: &mut Folders, path: &Path) -> Result<Option<Entry>> {
    match folders.holding(path)? {
        Some((folder, name)) => folder.entry(name),
        None => Ok(None),
    }
}

fn changed(path: &Path) -> Error {
    Error::new(Code::FileFailed, format!("`{}` changed during the deploy", path.display()))
}

/// Puts one file in place, keeps the file that it replaces under a temporary name, and returns the new file's metadata.
fn put_one(journal: &Journal, seq: usize, change: &Change, folder: &Folder) -> Result<Option<Stat>> {
    let name = change.path.file_name().unwrap_or_default();
    let (new, old) = journal.beside(seq);
    let replaces = change.before != PathState::Absent;
    // Check as late as possible, to avoid overwriting a change that somebody has just made. Creating a new file fails
    // if the path exists by now, so it needs no check.
    let is_new_file = !replaces && matches!(change.after, After::File { .. });
    if !is_new_file && folder.look(name)? != change.before {
        return Err(changed(&change.path));
    }
    if replaces && !matches!(change.before, PathState::Link(_)) {
        // Keep the old file as a hard link: restoring it needs no disk space and preserves all attributes. On a disk
        // without hard links, the stored content is used instead.
        folder.link_beside(name, &old);
    }
    match &change.after {
        After::Absent => folder.remove(name)?,
        After::Link(text) => folder.put_link(name, &new, text)?,
        After::File { .. } => folder.put_in_place(name, &new, !replaces).map_err(|error| match error.code() {
            Code::AlreadyExists => changed(&change.path),
            _ => error,
        })?,
    }
    Ok(folder.entry(name)?.and_then(|entry| entry.stat))
}
