//! Translates SQLite's errors.

use rusqlite::{ErrorCode, ffi};

use crate::engine::{self, busy, full, timeout};
use mcpkg_base::error::{Code, Error};

/// The longest value or row in bytes. SQLite refuses longer ones in a file without reading them.
pub(super) const LONGEST: i32 = 256 << 20;

/// Whether an error for which SQLite has no code of its own comes from the content of rows, and not from the
/// statement. This happens if a function rejects a value. It also happens if the search index is damaged, because SQLite
/// reads the index when it prepares a statement.
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

/// Converts an error of SQLite to an error of mcpkg.
pub(in crate::engine) fn failed(error: rusqlite::Error) -> Error {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows, Utf8Error,
    };
    let Some(failure) = error.sqlite_error().copied() else {
        return match error {
            // The value is of a type that mcpkg never writes.
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
            // Callers handle rows that may be missing. This row is missing although every intact database has it.
            | QueryReturnedNoRows => {
                damaged(error)
            }
            _ => Error::internal(format!("The database failed: {error}")).with_source(error),
        };
    };
    let translated = match failure.code {
        ErrorCode::DiskFull => full(),
        // There was no room to grow the shared-memory file of the WAL.
        ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => full(),
        ErrorCode::ReadOnly => Error::new(Code::ReadOnly, "The database or its disk is read-only; nothing was written")
            .hint("make the file and its folder writable, or name another database with --db"),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => busy(),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => return damaged(error),
        ErrorCode::SystemIoFailure => Error::new(Code::Storage, format!("The disk reported an error: {error}"))
            .hint("the write may not have been saved; check the disk"),
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            Error::new(Code::Unavailable, format!("Cannot open the database: {error}"))
                .hint("check that the file and its folder exist and are readable and writable")
        }
        // Callers handle the conflicts that they expect, so this is a bug of mcpkg or damage.
        ErrorCode::ConstraintViolation => Error::internal(format!("The database rejected a row: {error}"))
            .hint("nothing was written; `mcpkg check --deep` checks the rows of the database"),
        ErrorCode::TypeMismatch => return damaged(error),
        ErrorCode::Unknown if is_of_rows(&error) => return damaged(error),
        ErrorCode::OperationInterrupted => timeout(),
        ErrorCode::TooBig => {
            Error::new(Code::TooLarge, format!("A value is larger than the limit of {} MiB", LONGEST >> 20))
        }
        _ => Error::internal(format!("The database failed: {error}")),
    };
    translated.with_source(error)
}

/// Whether `error` is a constraint violation that no caller expected.
pub(super) fn is_refused_row(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<rusqlite::Error>());
    error.code() == Code::Internal
        && source.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::ConstraintViolation)
}

/// Whether `error` says that a statement violated the UNIQUE constraint or the primary key over `columns` of `table`.
pub(in crate::engine) fn is_violated(error: &Error, table: &str, columns: &[&str]) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<rusqlite::Error>());
    let Some(rusqlite::Error::SqliteFailure(failure, Some(message))) = source else {
        return false;
    };
    // Example: "UNIQUE constraint failed: prompt.project_id, prompt.name"
    let named = message.rsplit(": ").next().unwrap_or_default();
    matches!(failure.extended_code, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
        && named.split(", ").eq(columns.iter().map(|column| format!("{table}.{column}")))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_refused_row_is_a_bug_and_not_damage() {
        let db = Connection::open_in_memory().expect("a database");
        let tables = "PRAGMA foreign_keys = on; CREATE TABLE one (id INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n > 0) UNIQUE,
                      of INTEGER REFERENCES one (id)) STRICT; INSERT INTO one VALUES (1, 1, NULL);";
        db.execute_batch(tables).expect("a table");
        for (row, says) in [
            ("(2, 1, NULL)", "UNIQUE constraint failed: one.n"),
            ("(2, 0, NULL)", "CHECK constraint failed"),
            ("(2, NULL, NULL)", "NOT NULL constraint failed: one.n"),
            ("(2, 2, 7)", "FOREIGN KEY constraint failed"),
        ] {
            let refused = db.execute(&format!("INSERT INTO one VALUES {row}"), []).expect_err(row);
            let error = failed(refused);
            assert_eq!(error.code(), Code::Internal, "{error}");
            assert!(error.message().contains(says) && error.hints()[0].contains("check --deep"), "{error:?}");
        }
        // A caller can recognize which constraint was violated.
        let error = failed(db.execute("INSERT INTO one VALUES (2, 1, NULL)", []).expect_err("not unique"));
        assert!(is_violated(&error, "one", &["n"]) && !is_violated(&error, "one", &["id"]));
    }
}
