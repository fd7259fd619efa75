//! What only SQLite has: how a connection is set up, and what its errors mean.

use std::path::{Path, PathBuf};
use std::time::Duration;

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Access, BUSY_TIMEOUT};
use crate::error::{Code, Error, Result};

/// Bytes of the longest value or row; longer ones of a file are refused without reading them.
const LONGEST: i32 = 256 << 20;

/// Bytes of the longest statement, those that make the tables of a file too.
const LONGEST_SQL: i32 = 1 << 20;

/// Returns a connection to `path` with a page cache of `cache` KiB.
pub(super) fn connect(path: &Path, access: Access, cache: i64, query_only: bool) -> Result<Connection> {
    let mut connection = Connection::open_with_flags(uri(path, access), flags(access))?;
    set_up(&mut connection, cache, query_only)?;
    Ok(connection)
}

/// Moves the WAL into the file; does not wait long for others.
pub(super) fn checkpoint(path: &Path) -> Result<()> {
    let connection = connect(path, Access::Writable, super::POOLED_CACHE, false)?;
    connection.busy_timeout(Duration::from_millis(200))?;
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}

/// Returns what makes such connections for a pool.
pub(super) fn manager(path: &Path, access: Access, cache: i64, query_only: bool) -> SqliteConnectionManager {
    SqliteConnectionManager::file(uri(path, access))
        .with_flags(flags(access))
        .with_init(move |connection| set_up(connection, cache, query_only))
}

fn flags(access: Access) -> OpenFlags {
    let mode = match access {
        Access::Writable => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::ReadOnly | Access::Immutable | Access::Full => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI
}

/// A `file:` URI, since only that form can say `immutable`; every byte that could end the path is escaped.
fn uri(path: &Path, access: Access) -> PathBuf {
    let mut uri = String::from("file:");
    if cfg!(windows) {
        uri.push('/');
    }
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'%' | b'?' | b'#' => uri.push_str(&format!("%{byte:02X}")),
            0x80.. => uri.push_str(&format!("%{byte:02X}")),
            _ => uri.push(char::from(byte)),
        }
    }
    if access.is_immutable() {
        uri.push_str("?immutable=1");
    }
    PathBuf::from(uri)
}

/// The order matters: without a busy timeout first, the first switch to WAL can answer "database is locked".
pub(super) fn set_up(connection: &mut Connection, cache: i64, query_only: bool) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // A file of somebody else's: its triggers and views never run, and no statement writes its schema. The actions of
    // foreign keys are no triggers.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    // Before the first statement, which reads the schema.
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA cache_size = -{cache};
         PRAGMA query_only = {};",
        if query_only { "ON" } else { "OFF" }
    ))?;
    // Else binding a value that a plan could depend on, a LIMIT too, prepares the statement anew.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// Returns the answer for a database that another process holds.
pub(super) fn busy() -> Error {
    Error::new(Code::Busy, format!("Another process held the database for longer than {} s", BUSY_TIMEOUT.as_secs()))
        .hint("try again; nothing was changed")
}

/// Returns the answer for a disk that takes no more.
pub(super) fn full() -> Error {
    Error::new(Code::DiskFull, "The disk is full; nothing was written").hint("free some space; reads go on meanwhile")
}

/// Whether an error without a code of its own comes of what rows hold, and not of a statement's text: of a value that a
/// function does not take, or of the search index, which reads its own tables when a statement is prepared.
fn is_of_rows(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(..) => true,
        rusqlite::Error::SqlInputError { msg, .. } => msg.contains("fts5") || msg.contains("vtable"),
        _ => false,
    }
}

/// Returns the answer for a file that holds what mcpkg does not write.
fn damaged(error: rusqlite::Error) -> Error {
    Error::new(Code::NotDatabase, format!("The database is damaged: {error}"))
        .hint("`mcpkg check --deep` says where; `mcpkg restore FILE` brings back a backup, if need be with the damaged file moved aside")
        .with_source(error)
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows, Utf8Error,
        };
        let Some(failure) = error.sqlite_error().copied() else {
            return match error {
                // A value that mcpkg does not write.
                FromSqlConversionFailure(..)
                | IntegralValueOutOfRange(..)
                | InvalidColumnType(..)
                | Utf8Error(..)
                // Where a row may be missing that is looked at; here one is that each database has.
                | QueryReturnedNoRows => {
                    damaged(error)
                }
                _ => Error::internal(format!("The store failed: {error}")).with_source(error),
            };
        };
        let translated = match failure.code {
            ErrorCode::DiskFull => full(),
            // The file that readers share could not grow.
            ErrorCode::SystemIoFailure if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => full(),
            ErrorCode::ReadOnly => {
                Error::new(Code::ReadOnly, "The database or its disk is read-only; nothing was written")
                    .hint("make the file and its folder writable, or name another database with --db")
            }
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => busy(),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => return damaged(error),
            ErrorCode::SystemIoFailure => {
                Error::new(Code::Storage, format!("The disk answered with an error: {error}"))
                    .hint("the write is not acknowledged; check the disk")
            }
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                Error::new(Code::Unavailable, format!("The database cannot be opened: {error}"))
                    .hint("check that the file and its folder exist and are readable and writable")
            }
            // A row that mcpkg does not write stands in the way; what callers may run into they look at themselves.
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch => return damaged(error),
            ErrorCode::Unknown if is_of_rows(&error) => return damaged(error),
            ErrorCode::OperationInterrupted => super::deadline::timeout(),
            ErrorCode::TooBig => Error::new(
                Code::TooLarge,
                format!("A value has more than {} MiB, the most that one may have", LONGEST >> 20),
            ),
            _ => Error::internal(format!("The store failed: {error}")),
        };
        translated.with_source(error)
    }
}
