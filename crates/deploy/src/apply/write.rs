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
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// Returns the missing folders that the changes need, outermost first. Fails if a folder is neither below nor above a
/// root.
pub(super) fn missing_folders(folders: &mut Folders, changes: &[Change]) -> Result<BTreeSet<PathBuf>> {
    let mut missing = BTreeSet::new();
    for change in changes.iter().filter(|change| !matches!(change.after, After::Absent)) {
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

/// Writes the files. Returns each file's metadata just after the write, or `None` if it would not reveal later
/// changes. On failure, also returns how many files were begun.
///
/// # Errors
/// `E_FILE_FAILED`, also if a file was changed in the meantime.
pub(super) fn write_all(
    context: &Context,
    journal: &Journal,
    changes: &[Change],
    missing: &BTreeSet<PathBuf>,
    folders: &mut Folders,
) -> Result<Vec<Option<Stat>>, (usize, Error)> {
    for folder in missing {
        refuse_cancelled(context, 0)?;
        folders.make(folder).map_err(|error| (0, error))?;
    }
    let all = changes.len();
    let mut stats = Vec::with_capacity(all);
    for (seq, change) in changes.iter().enumerate() {
        refuse_cancelled(context, seq)?;
        let written = holding(folders, &change.path).and_then(|folder| write_one(journal, seq, change, &folder));
        stats.push(written.map_err(|error| (seq + 1, error))?);
        (context.progress)("Writing", seq as u64 + 1, all as u64);
    }
    let touched: BTreeSet<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    let made: BTreeSet<&Path> = missing.iter().filter_map(|folder| folder.parent()).collect();
    for folder in touched.union(&made) {
        folders.sync(folder).map_err(|error| (all, error))?;
    }
    for (change, stat) in changes.iter().zip(&mut stats) {
        let there = entry(folders, &change.path).map_err(|error| (all, error))?;
        if there.is_none() && !matches!(change.after, After::Absent) {
            return Err((all, changed(&change.path)));
        }
        *stat = there.and_then(|entry| entry.stat).filter(|there| Some(there) == stat.as_ref());
    }
    match folders.moved().first() {
        None => Ok(stats),
        Some(moved) => Err((all, changed(&moved.path))),
    }
}

/// Fails if the user cancelled. `begun` is the number of files begun so far.
fn refuse_cancelled(context: &Context, begun: usize) -> Result<(), (usize, Error)> {
    match context.is_cancelled() {
        true => Err((begun, Error::new(Code::Cancelled, "The deploy was cancelled"))),
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

fn write_one(journal: &Journal, seq: usize, change: &Change, folder: &Folder) -> Result<Option<Stat>> {
    let name = change.path.file_name().unwrap_or_default();
    let (new, old) = journal.beside(seq);
    if let After::File { bytes, mode, .. } = &change.after {
        // The new file keeps the owner of the file that it replaces.
        let replaced =
            || Attributes::from_column(journal.files[seq].attributes.as_deref()).map(Attributes::without_time);
        let attributes = change.attributes.clone().or_else(replaced);
        folder.write_beside(name, &new, bytes, *mode, attributes.as_ref())?;
    }
    // Check as late as possible, to avoid overwriting a change made in the meantime.
    if folder.look(name)? != change.before {
        return Err(changed(&change.path));
    }
    let replaces = change.before != PathState::Absent;
    if replaces && !matches!(change.before, PathState::Link(_)) {
        // Keep the old file as a hard link: restoring it needs no disk space and preserves all attributes. On a disk
        // without hard links, the stored content is used instead.
        folder.link_beside(name, &old);
    }
    match &change.after {
        After::Absent => folder.remove(name)?,
        After::Link(text) => folder.put_link(name, &new, text)?,
        After::File { .. } => folder.put_in_place(name, &new, !replaces)?,
    }
    Ok(folder.entry(name)?.and_then(|entry| entry.stat))
}
