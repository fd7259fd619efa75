//! Backups of the database while it is in use. Copying the bare file is none: what stands in the WAL would be missing.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::open::{self, Access, beside};
use super::scratch::Scratch;
use super::{Db, Store, check, schema, sqlite};
use crate::error::{Code, Error, Result};

/// Pages copied between two reports of progress.
const STEP: i32 = 1024;

/// Told how many pages are done, and of how many.
pub type Progress<'a> = dyn Fn(u64, u64) + 'a;

impl Store {
    /// Writes a consistent copy of the database to `to` while others read and write; returns its size in bytes.
    ///
    /// 1. Read in one transaction, so that a busy writer cannot make the copy start over.
    /// 2. Write into a scratch folder beside the destination, mode 0600.
    /// 3. Open the copy and look through all of it.
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
        let scratch = Scratch::make(&self.0.path, folder)?;
        let copy = scratch.copy();
        self.write_copy(&copy, progress)?;
        if checked {
            check_copy(&copy, to)?;
        }
        open::sync(&copy)?;
        disk_put(&copy, to)?;
        open::sync(folder)?;
        fs::metadata(to).map(|metadata| metadata.len()).map_err(|error| Error::file("read", to, error))
    }

    fn write_copy(&self, to: &Path, progress: &Progress<'_>) -> Result<()> {
        let source = sqlite::connect(&self.0.path, self.0.access, super::READER_CACHE, true)?;
        source.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1;")?;
        open::create_private(to).map_err(|error| Error::file("write", to, error))?;
        let mut copy = sqlite::connect(to, Access::Writable, super::POOLED_CACHE, false)?;
        copy_pages(&source, &mut copy, || Ok(()), progress)?;
        // The copy is one file: out of WAL mode, so that opening it makes no side files.
        copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        copy.close().map_err(|(_, error)| error.into())
    }

    /// Replaces the content of the open database by that of the backup at `from`, in one transaction of the live
    /// file, so that running servers see it. Keeps what it replaces at `kept`.
    ///
    /// 1. Check whose file it is, copy it into a scratch folder, bring the copy up to date, look through all of it.
    /// 2. `carry` writes into the copy what is not to be lost with what is replaced.
    /// 3. Wait for the writers of the live file, keep it, replace its pages.
    ///
    /// # Errors
    /// As [`Store::backup`] for the copy it keeps; how `from` fails its checks; `E_DB_NEWER`, `E_MAY_ONLY_READ`; what `carry` returns.
    pub fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        self.check_may_write()?;
        if from.canonicalize().is_ok_and(|from| from == self.0.path) {
            return Err(Error::new(Code::InvalidArgument, format!("`{}` is the database itself", from.display()))
                .hint("name a backup of it"));
        }
        open::check_header(from)?;
        let source = sqlite::connect(from, Access::ReadOnly, super::READER_CACHE, true)?;
        let version = open::check_version(&source, from)?;
        schema::check(&source, version, from)?;
        let scratch = Scratch::make(&self.0.path, self.0.path.parent().unwrap_or(Path::new(".")))?;
        open::create_private(&scratch.copy()).map_err(|error| Error::file("write", &scratch.copy(), error))?;
        let mut staged = sqlite::connect(&scratch.copy(), Access::Writable, super::POOLED_CACHE, false)?;
        copy_pages(&source, &mut staged, || Ok(()), &|_, _| {})?;
        if version < super::SCHEMA_VERSION {
            refuse(check::structure(&staged)?.first().map(String::as_str), from)?;
            schema::migrate(&mut staged, from)?;
        }
        refuse(check::inspect(&staged, &|_, _| {})?.faults().next(), from)?;
        super::in_transaction(&staged, None, "BEGIN IMMEDIATE", |db| {
            let generation = "UPDATE setting SET value = lower(hex(randomblob(16))) WHERE key = 'generation'";
            db.connection.execute(generation, [])?;
            carry(db)
        })?;
        let mut live = sqlite::connect(&self.0.path, Access::Writable, super::POOLED_CACHE, false)?;
        // Kept while nobody can write: what others commit stands in it or comes after the restore.
        // It may be damaged, which is why it is replaced.
        let keep = || self.copy_to(kept, false, &|_, _| {}).map(drop);
        copy_pages(&staged, &mut live, keep, progress)
    }

    /// Returns where a restore keeps what it replaces: beside the file, with the time in its name.
    pub fn kept_beside(&self, stamp: &str) -> PathBuf {
        beside(&self.0.path, &format!(".before-restore-{stamp}"))
    }
}

/// Moves a finished copy to its place, where nothing is.
fn disk_put(copy: &Path, to: &Path) -> Result<()> {
    let copy = tempfile::TempPath::try_from_path(copy).map_err(|error| Error::file("write", to, error))?;
    copy.persist_noclobber(to).map_err(|error| Error::file("write", to, error.error))
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

/// Opens the copy that is going to be `to` as a stranger would, and looks through all of it.
fn check_copy(copy: &Path, to: &Path) -> Result<()> {
    open::check_header(copy)?;
    let connection = sqlite::connect(copy, Access::Writable, super::READER_CACHE, false)?;
    schema::check(&connection, super::SCHEMA_VERSION, to)?;
    refuse(check::inspect(&connection, &|_, _| {})?.faults().next(), to)
}

fn refuse(fault: Option<&str>, path: &Path) -> Result<()> {
    match fault {
        None => Ok(()),
        Some(fault) => Err(Error::new(Code::NotDatabase, format!("`{}` is damaged: {fault}", path.display()))
            .hint("use another backup")),
    }
}
