//! Scratch folders of backups and restores. If a process is killed, the next command removes its folders.
//!
//! Unfinished files are in a scratch folder next to their destination. For each scratch folder, there is a record in
//! `<database>.unfinished`, which stays locked while the process of the folder lives. The next process that opens the
//! database removes the folders whose records are not locked. A lock shows reliably whether a process is alive; a
//! process id or a time does not.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::files::{beside, remove_with_side_files};
use super::lock_file::open_lock_file;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;
use mcpkg_base::platform;

/// The prefix of scratch folders' names.
const PREFIX: &str = ".mcpkg-unfinished-";

/// The name of the database in a scratch folder.
const COPY: &str = "copy.db";

/// Returns the folder with the records of a database's scratch folders.
fn records(database: &Path) -> PathBuf {
    beside(database, ".unfinished")
}

/// A scratch folder. Dropping it removes the folder.
pub(super) struct Scratch {
    folder: PathBuf,
    /// The record and its lock; `None` if the folder of the database cannot be written.
    record: Option<(PathBuf, File)>,
    database: PathBuf,
}

impl Scratch {
    pub(super) fn make(database: &Path, parent: &Path) -> Result<Self> {
        let name = format!("{PREFIX}{}", mcpkg_base::clock::unique().simple());
        let parent = std::path::absolute(parent).map_err(|error| Error::file("resolve", parent, error))?;
        let folder = parent.join(&name);
        let record = record(database, &name, &folder);
        let scratch = Self { folder, record, database: database.to_path_buf() };
        platform::folders(0o700)
            .create(&scratch.folder)
            .map_err(|error| Error::file("write next to", &scratch.folder, error))?;
        Ok(scratch)
    }

    /// Returns the path of the database in the folder.
    pub(super) fn copy(&self) -> PathBuf {
        self.folder.join(COPY)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        clear(&self.folder);
        if let Some((path, _)) = &self.record {
            let _ = fs::remove_file(path);
            let _ = fs::remove_dir(records(&self.database));
        }
    }
}

/// Writes and locks a record of `folder`. Returns `None` if that is not possible, because a read-only database can
/// still be backed up.
fn record(database: &Path, name: &str, folder: &Path) -> Option<(PathBuf, File)> {
    let path = records(database).join(name);
    // Retry: another process may remove the folder of records while it is empty, before this record is created in it.
    for _ in 0..3 {
        let _ = platform::folders(0o700).create(records(database));
        let Ok(mut file) = open_lock_file(&path) else { continue };
        // Check the path again: before the lock was taken, a sweep may have found the record unlocked and removed it.
        if file.lock().is_ok() && path.exists() && file.write_all(folder.to_string_lossy().as_bytes()).is_ok() {
            return Some((path, file));
        }
    }
    None
}

/// Removes the scratch folders of processes that have ended.
pub(super) fn sweep(database: &Path) {
    let Ok(entries) = fs::read_dir(records(database)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(file) = file::open_with(fs::OpenOptions::new().read(true).write(true), &path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let mut folder = String::new();
        if (&file).take(1 << 16).read_to_string(&mut folder).is_ok() {
            let folder = Path::new(&folder);
            let is_scratch = folder.is_absolute() && folder.file_name() == path.file_name();
            if is_scratch && is_ours(&path) {
                clear(folder);
                tracing::info!(folder = %folder.display(), "removed the remains of an interrupted backup or restore");
            }
        }
        let _ = fs::remove_file(&path);
    }
    let _ = fs::remove_dir(records(database));
}

fn is_ours(record: &Path) -> bool {
    record.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Removes a scratch folder, if it contains only files that mcpkg and SQLite create there.
fn clear(folder: &Path) {
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    remove_with_side_files(&folder.join(COPY));
    let _ = fs::remove_dir(folder);
}
