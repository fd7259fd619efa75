//! Backups of the database while it is in use. Copying the bare file is none: what stands in the WAL would be missing.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::open::{self, Access, beside};
use super::{Store, check, sqlite};
use crate::error::{Code, Error, Result};

/// Pages copied between two reports of progress.
const STEP: i32 = 1024;

/// Told how many pages are done, and of how many.
pub type Progress<'a> = dyn Fn(u64, u64) + 'a;

impl Store {
    /// Writes a consistent copy of the database to `to` while others read and write; returns its size in bytes.
    ///
    /// 1. Read in one transaction, so that a busy writer cannot make the copy start over.
    /// 2. Write beside the destination, mode 0600.
    /// 3. Open the copy, check its structure and the SHA-256 of every content.
    /// 4. Put it on the disk, then rename it to its place.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` where `to` exists, `E_FILE_FAILED` and `E_DISK_FULL` for its disk, `E_DB_CORRUPT` and
    /// `E_DAMAGED` where the copy does not check.
    pub fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        if to.exists() {
            return Err(Error::new(Code::AlreadyExists, format!("`{}` already exists", to.display()))
                .hint("name another file, or remove it first"));
        }
        self.copy_to(to, true, progress)
    }

    /// Writes the copy; a damaged one only where it is not to be checked.
    fn copy_to(&self, to: &Path, checked: bool, progress: &Progress<'_>) -> Result<u64> {
        self.check_in_place()?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Error::new(Code::NotFound, format!("The folder `{}` does not exist", folder.display())));
        }
        let failed = |error| Error::file("write", to, error);
        let unfinished = tempfile::Builder::new().prefix(".mcpkg-backup-").tempfile_in(folder).map_err(failed)?;
        self.write_copy(unfinished.path(), progress)?;
        if checked {
            check_copy(unfinished.path())?;
        }
        open::sync(unfinished.path())?;
        unfinished.persist_noclobber(to).map_err(|error| failed(error.error))?;
        open::sync(folder)?;
        fs::metadata(to).map(|metadata| metadata.len()).map_err(|error| Error::file("read", to, error))
    }

    fn write_copy(&self, to: &Path, progress: &Progress<'_>) -> Result<()> {
        let source = sqlite::connect(&self.0.path, self.0.access, super::READER_CACHE, true)?;
        source.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1;")?;
        open::make_private(to)?;
        let mut copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        copy_pages(&source, &mut copy, || Ok(()), progress)?;
        // The copy is one file: out of WAL mode, so that opening it makes no side files.
        copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        copy.close().map_err(|(_, error)| error.into())
    }

    /// Replaces the content of the open database by that of the backup at `from`, in one transaction of the live
    /// file, so that running servers see it. Keeps what it replaces beside the file and returns where.
    ///
    /// # Errors
    /// As [`Store::backup`] for the copy it keeps; how `from` fails its checks; `E_DB_NEWER`.
    pub fn restore(&self, from: &Path, kept: &Path, progress: &Progress<'_>) -> Result<PathBuf> {
        if from.canonicalize().is_ok_and(|from| from == self.0.path) {
            return Err(Error::new(Code::InvalidArgument, format!("`{}` is the database itself", from.display()))
                .hint("name a backup of it"));
        }
        check_copy(from)?;
        let source = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let version: u32 = source.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version > open::SCHEMA_VERSION {
            return Err(Error::new(
                Code::NewerDatabase,
                format!(
                    "The backup `{}` has schema {version}; this mcpkg knows schemas up to {}",
                    from.display(),
                    open::SCHEMA_VERSION
                ),
            ));
        }
        // An older backup is brought up to date in a scratch copy, so that the live file never holds an old schema.
        let scratch = tempfile::Builder::new()
            .prefix(".mcpkg-restore-")
            .tempdir_in(self.0.path.parent().unwrap_or(Path::new(".")))
            .map_err(|error| Error::file("write beside", &self.0.path, error))?;
        let staged = scratch.path().join("staged.db");
        fs::File::create_new(&staged).map_err(|error| Error::file("write", &staged, error))?;
        open::make_private(&staged)?;
        let mut copy = Connection::open_with_flags(&staged, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        copy_pages(&source, &mut copy, || Ok(()), &|_, _| {})?;
        copy.close().map_err(|(_, error)| Error::from(error))?;
        let staged = open::open(&staged)?;
        let source = staged.connection;
        source.execute("UPDATE setting SET value = lower(hex(randomblob(16))) WHERE key = 'generation'", [])?;

        let mut live = sqlite::connect(&self.0.path, Access::Writable, super::POOLED_CACHE, false)?;
        // Kept while nobody can write: what others commit stands in it or comes after the restore.
        // It may be damaged, which is why it is replaced.
        let keep = || self.copy_to(kept, false, &|_, _| {}).map(drop);
        copy_pages(&source, &mut live, keep, progress)?;
        Ok(kept.to_path_buf())
    }

    /// Returns where a restore keeps what it replaces: beside the file, with the time in its name.
    pub fn kept_beside(&self, stamp: &str) -> PathBuf {
        beside(&self.0.path, &format!(".before-restore-{stamp}"))
    }
}

/// Copies all pages; a restore into a live file waits for its writers, never for its readers. Runs `locked` when no
/// other process can write to the destination any more.
fn copy_pages(
    from: &Connection,
    to: &mut Connection,
    locked: impl FnOnce() -> Result<()>,
    progress: &Progress<'_>,
) -> Result<()> {
    to.busy_timeout(super::BUSY_TIMEOUT)?;
    let backup = Backup::new(from, to)?;
    // A step of no pages takes the destination's lock.
    step(&backup, 0)?;
    locked()?;
    while step(&backup, STEP)? != StepResult::Done {
        let done = backup.progress();
        let total = u64::try_from(done.pagecount).unwrap_or(0);
        progress(total - u64::try_from(done.remaining).unwrap_or(0), total);
    }
    Ok(())
}

/// Copies so many pages; waits for whoever holds the destination.
fn step(backup: &Backup<'_, '_>, pages: i32) -> Result<StepResult> {
    let mut waited = std::time::Duration::ZERO;
    loop {
        match backup.step(pages)? {
            StepResult::Busy | StepResult::Locked => {
                if waited > super::BUSY_TIMEOUT {
                    return Err(sqlite::busy());
                }
                let pause = std::time::Duration::from_millis(5);
                std::thread::sleep(pause);
                waited += pause;
            }
            done => return Ok(done),
        }
    }
}

/// Opens the copy as a stranger would, and checks it.
fn check_copy(path: &Path) -> Result<()> {
    open::check_header(path)?;
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut faults = check::structure(&connection)?;
    if faults.is_empty() {
        (_, faults) = check::hashes(&super::Db { connection: &connection, watch: None }, &|_, _| {})?;
    }
    match faults.first() {
        None => Ok(()),
        Some(fault) => Err(Error::new(Code::NotDatabase, format!("`{}` is damaged: {fault}", path.display()))
            .hint("use another backup")),
    }
}
