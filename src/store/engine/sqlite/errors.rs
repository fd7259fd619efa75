//! What SQLite's errors mean.

use rusqlite::{ErrorCode, ffi};

use super::limits::LONGEST;
use crate::error::{Code, Error};
use crate::store::engine::{self, busy, full, timeout};

/// Whether an error without a code of its own comes of what rows hold, and not of a statement's text: of a value that a
/// function does not take, or of the search index, which reads its own tables when a statement is prepared.
fn is_of_rows(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(..) => true,
        rusqlite::Error::SqlInputError { msg, .. } => msg.contains("fts5") || msg.contains("vtable"),
        _ => false,
    }
}

fn damaged(error: rusqlite::Error) -> Error {
    engine::damaged(&error).with_source(error)
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows, Utf8Error,
        };
        let Some(failure) = error.sqlite_error().copied() else {
            return match error {
                // A value that mcpkg does not write.
                FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
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
            ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => full(),
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
            ErrorCode::OperationInterrupted => timeout(),
            ErrorCode::TooBig => Error::new(
                Code::TooLarge,
                format!("A value has more than {} MiB, the most that one may have", LONGEST >> 20),
            ),
            _ => Error::internal(format!("The store failed: {error}")),
        };
        translated.with_source(error)
    }
}

/// Returns whether `error` is the violation of the UNIQUE constraint or the primary key over `columns` of `table`.
pub(in crate::store::engine) fn is_violated(error: &Error, table: &str, columns: &[&str]) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<rusqlite::Error>());
    let Some(rusqlite::Error::SqliteFailure(failure, Some(message))) = source else {
        return false;
    };
    // "UNIQUE constraint failed: prompt.project_id, prompt.name"
    let named = message.rsplit(": ").next().unwrap_or_default();
    matches!(failure.extended_code, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
        && named.split(", ").eq(columns.iter().map(|column| format!("{table}.{column}")))
}
