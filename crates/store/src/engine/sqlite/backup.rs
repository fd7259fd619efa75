//! Backs up the database while it is in use. A plain copy of the file is not a backup: it lacks the content of the WAL.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::access::Access;
use super::connect;
use super::connect::{POOLED_CACHE, READER_CACHE};
use super::database::Database;
use super::errors::failed;
use super::files::{beside, create_private, sync};
use super::rows::sqlite_sql;
use super::scratch::Scratch;
use super::{integrity, open, schema, upgrade};
use crate::engine::{BUSY_TIMEOUT, Intent, Link, Progress, busy, params};
use crate::{Db, check};
use mcpkg_base::error::{Code, Error, Result};

/// The number of pages to copy between two reports of progress.
const STEP: i32 = 1024;

impl Database {
    /// Implements [`crate::Store::backup`].
    pub(crate) fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        refuse_existing(to)?;
        self.copy_to(to, true, progress)
    }

    /// Writes the copy. With `checked`, refuses a damaged copy.
    fn copy_to(&self, to: &Path, checked: bool, progress: &Progress<'_>) -> Result<u64> {
        self.check_in_place()?;
        publish(&self.path, to, checked, progress, |copy| {
            let source = connect::connect(&self.path, self.access(), READER_CACHE, true)?;
            source.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1;").map_err(failed)?;
            copy_pages(&source, copy, || Ok(()), progress)
        })
    }

    /// Implements [`crate::Store::restore`].
    pub(crate) fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        self.check_backup(from)?;
        let staged = Staged::of(&self.path, from, carry, progress)?;
        let mut live = connect::connect(&self.path, Access::Writable, POOLED_CACHE, false)?;
        // No other process can write now, so the copy contains every commit before the restore. A damaged copy is
        // accepted, because the damage may be the very reason to restore.
        let keep = || self.copy_to(kept, false, &progress.silent()).map(drop);
        copy_pages(&staged.connection, &mut live, keep, progress)
    }

    /// Implements [`crate::Store::check_backup`].
    pub(crate) fn check_backup(&self, from: &Path) -> Result<()> {
        if mcpkg_base::platform::real(from).is_ok_and(|from| from == self.path) {
            return Err(Error::new(Code::InvalidArgument, format!("`{}` is the database itself", from.display()))
                .hint("name a backup instead"));
        }
        check_backup(from)
    }

    /// Implements [`crate::Store::kept_beside`].
    pub(crate) fn kept_beside(&self, timestamp: &str) -> PathBuf {
        kept_beside(&self.path, timestamp)
    }
}

/// Returns the path where a restore keeps the database that it replaces, next to `database`.
pub(in crate::engine) fn kept_beside(database: &Path, timestamp: &str) -> PathBuf {
    beside(database, &format!(".before-restore-{timestamp}"))
}

/// Refuses a file that is not a database of mcpkg.
pub(in crate::engine) fn check_backup(from: &Path) -> Result<()> {
    open::check_header(from).map_err(|error| of_backup(from, error))
}

/// Refuses to write a backup over an existing file.
pub(in crate::engine) fn refuse_existing(to: &Path) -> Result<()> {
    if to.exists() {
        return Err(Error::new(Code::AlreadyExists, format!("`{}` already exists", to.display()))
            .hint("name another file, or remove this file first"));
    }
    Ok(())
}

/// Lets `fill` write a database next to `to`, checks it if `checked`, and moves it to `to`. So `to` is either complete
/// or does not exist. Returns the size of the file. The scratch folder is recorded next to `database`.
pub(in crate::engine) fn publish(
    database: &Path,
    to: &Path,
    checked: bool,
    progress: &Progress<'_>,
    fill: impl FnOnce(&mut Connection) -> Result<()>,
) -> Result<u64> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::new(Code::NotFound, format!("The folder `{}` does not exist", folder.display())));
    }
    let scratch = Scratch::make(database, folder)?;
    let copy = scratch.copy();
    create_private(&copy).map_err(|error| Error::file("write", to, error))?;
    let mut connection = connect::connect(&copy, Access::Writable, POOLED_CACHE, false)?;
    fill(&mut connection)?;
    // Leave WAL mode, so that the backup is a single file and opening it creates no side files.
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    if checked {
        check_copy(&copy, database, progress)?;
    }
    sync(&copy)?;
    progress.go_on()?;
    disk_put(&copy, to)?;
    sync(folder)?;
    fs::metadata(to).map(|metadata| metadata.len()).map_err(|error| Error::file("read", to, error))
}

/// Creates the tables of the newest schema in an empty file.
pub(in crate::engine) fn make_tables(connection: &mut Connection, path: &Path) -> Result<()> {
    connection.execute_batch(&format!("PRAGMA application_id = {};", open::APPLICATION_ID)).map_err(failed)?;
    schema::create(connection, path)
}

/// A backup that was copied, migrated and checked, ready to replace the database. Dropping it removes its scratch folder.
pub(in crate::engine) struct Staged {
    pub(in crate::engine) connection: Connection,
    _scratch: Scratch,
}

impl Staged {
    /// Stages the backup at `from`. `carry` writes into the copy the data of the replaced database that a restore must not
    /// lose. The scratch folder is made and recorded next to `database`.
    pub(in crate::engine) fn of(
        database: &Path,
        from: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let (staged, scratch) = Self::copied(database, from, progress).map_err(|error| of_backup(from, error))?;
        Db::in_transaction(Link::Sqlite(&staged), None, Intent::Write, |db| {
            let sql = sqlite_sql!("UPDATE setting SET value = lower(hex(randomblob(16))) WHERE key = 'generation'");
            db.run(sql, params![])?;
            carry(db)
        })?;
        Ok(Self { connection: staged, _scratch: scratch })
    }

    /// Copies the backup at `from`, migrates the copy and checks it. Returns it with its scratch folder.
    fn copied(database: &Path, from: &Path, progress: &Progress<'_>) -> Result<(Connection, Scratch)> {
        open::check_header(from)?;
        let source = connect::connect(from, Access::ReadOnly, READER_CACHE, true)?;
        let version = open::check_version(&source, from)?;
        schema::check(&source, version, from)?;
        let scratch = Scratch::make(database, database.parent().unwrap_or(Path::new(".")))?;
        create_private(&scratch.copy()).map_err(|error| Error::file("write", &scratch.copy(), error))?;
        let mut staged = connect::connect(&scratch.copy(), Access::Writable, POOLED_CACHE, false)?;
        copy_pages(&source, &mut staged, || Ok(()), &progress.silent())?;
        if version < schema::SCHEMA_VERSION {
            refuse(integrity::faults(&staged)?.first().map(String::as_str), from)?;
            upgrade::to_newest(&mut staged, version, from)?;
        }
        refuse(check::inspect(Link::Sqlite(&staged), &progress.silent())?.faults().next(), from)?;
        Ok((staged, scratch))
    }
}

/// Adapts an error to a backup. The usual hints for a damaged database would be wrong, because the damage is in the
/// backup and not in the database.
fn of_backup(from: &Path, error: Error) -> Error {
    let file = from.display().to_string();
    if !matches!(error.code(), Code::NotDatabase | Code::ForeignDatabase) {
        return error;
    }
    if error.message().contains(&file) {
        return error.with_hints(|_| "name a file that `mcpkg backup` wrote".to_owned());
    }
    let what = format!("The backup `{file}` is damaged; nothing was changed");
    Error::new(Code::NotDatabase, what)
        .hint("restore another backup; `mcpkg --db FILE check --deep` shows where a file is damaged")
        .with_source(error)
}

/// Moves a finished copy to its destination, which must not exist.
fn disk_put(copy: &Path, to: &Path) -> Result<()> {
    let copy = tempfile::TempPath::try_from_path(copy).map_err(|error| Error::file("write", to, error))?;
    copy.persist_noclobber(to).map_err(|error| Error::file("write", to, error.error))
}

/// Copies all pages. A restore into a live file waits for writers, but never for readers. Runs `locked` as soon as no
/// other process can write to the destination.
fn copy_pages(
    from: &Connection,
    to: &mut Connection,
    locked: impl FnOnce() -> Result<()>,
    progress: &Progress<'_>,
) -> Result<()> {
    to.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let backup = Backup::new(from, to).map_err(failed)?;
    // A step of zero pages only locks the destination.
    step(&backup, 0)?;
    locked()?;
    while step(&backup, STEP)? != StepResult::Done {
        let done = backup.progress();
        let total = u64::try_from(done.pagecount).unwrap_or(0);
        progress.tell(total - u64::try_from(done.remaining).unwrap_or(0), total)?;
    }
    Ok(())
}

/// Copies some pages, and waits while the destination is locked.
fn step(backup: &Backup<'_, '_>, pages: i32) -> Result<StepResult> {
    let mut waited = std::time::Duration::ZERO;
    loop {
        match backup.step(pages).map_err(failed)? {
            StepResult::Busy | StepResult::Locked => {
                if waited > BUSY_TIMEOUT {
                    return Err(busy());
                }
                let pause = std::time::Duration::from_millis(5);
                std::thread::sleep(pause);
                waited += pause;
            }
            done => return Ok(done),
        }
    }
}

/// Opens a copy of `database` as carefully as a file from a stranger, and checks all of it. Errors blame `database`,
/// since any damage in the copy comes from there.
fn check_copy(copy: &Path, database: &Path, progress: &Progress<'_>) -> Result<()> {
    open::check_header(copy)?;
    let connection = connect::connect(copy, Access::Writable, READER_CACHE, false)?;
    schema::check(&connection, schema::SCHEMA_VERSION, database)?;
    match check::inspect(Link::Sqlite(&connection), progress)?.faults().next() {
        None => Ok(()),
        Some(fault) => {
            let what = format!("The database `{}` is damaged, and no backup was written: {fault}", database.display());
            Err(Error::new(Code::NotDatabase, what)
                .hint("`mcpkg check --deep` lists all damage; `mcpkg restore FILE` restores an older backup"))
        }
    }
}

fn refuse(fault: Option<&str>, path: &Path) -> Result<()> {
    match fault {
        None => Ok(()),
        Some(fault) => Err(Error::new(Code::NotDatabase, format!("`{}` is damaged: {fault}", path.display()))
            .hint("use another backup")),
    }
}
