//! Translates PostgreSQL's errors.

use std::path::Path;

use postgres::error::SqlState;

use crate::engine::{self, busy, full, timeout};
use mcpkg_base::error::{Code, Error};

/// Converts an error of PostgreSQL to an error of mcpkg.
pub(super) fn failed(error: postgres::Error) -> Error {
    if is_lost(&error) {
        return lost().with_source(error);
    }
    let Some(failure) = error.as_db_error() else {
        return Error::internal(format!("The database failed: {error}")).with_source(error);
    };
    let message = failure.message();
    let translated = match failure.code() {
        &SqlState::QUERY_CANCELED => timeout(),
        state if is_contention(state) => busy(),
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => busy(),
        &SqlState::DISK_FULL => full(),
        &SqlState::READ_ONLY_SQL_TRANSACTION => Error::new(
            Code::ReadOnly,
            "The database server does not accept writes: it is a standby, or set to read-only",
        )
        .hint("name all hosts in the address, and add target_session_attrs=read-write; nothing was written"),
        &SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::new(Code::Unavailable, format!("The database server denied access: {message}")).hint(
                "the user in the address needs to own the schema `mcpkg`, or have the right to create it; nothing \
                    was changed",
            )
        }
        // PostgreSQL cannot store U+0000, so nothing with this name or text exists.
        &SqlState::CHARACTER_NOT_IN_REPERTOIRE => {
            Error::new(Code::NotFound, "Not found: names and texts never contain U+0000")
        }
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => engine::damaged(message),
        &SqlState::PROGRAM_LIMIT_EXCEEDED => Error::new(Code::TooLarge, format!("A value is too large: {message}")),
        &SqlState::OUT_OF_MEMORY | &SqlState::IO_ERROR => {
            Error::new(Code::Storage, format!("The database server reported an error: {message}"))
                .hint("the write may not have been saved; check the database server's log")
        }
        _ => Error::internal(format!("The database failed: {message}")),
    };
    translated.with_source(error)
}

/// Whether a transaction failed only because of others that ran at the same time, so that it may succeed if it is tried
/// again. After a deadlock, PostgreSQL aborts either of the two.
pub(super) fn is_contention(state: &SqlState) -> bool {
    matches!(
        state,
        &SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED | &SqlState::T_R_SERIALIZATION_FAILURE
    )
}

/// Whether the connection is lost, or about to be lost because the server shuts down.
pub(super) fn is_lost(error: &postgres::Error) -> bool {
    if let Some(state) = error.code() {
        return matches!(state, &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW)
            || state.code().starts_with("08");
    }
    use std::error::Error as _;
    error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>())
}

/// Whether the server cancelled a statement, on request or because of its own time limit.
pub(super) fn is_cancelled(error: &postgres::Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

/// Returns the error for a connection that was lost before anything was committed on it.
fn lost() -> Error {
    Error::new(Code::Unavailable, "The connection to the database server was lost; nothing was changed")
        .hint("try again: mcpkg reconnects by itself when the server is back or a standby has taken over")
}

/// Returns the error for a server that did not answer in time, before anything was committed.
pub(super) fn no_answer() -> Error {
    Error::new(
        Code::Unavailable,
        "The database server did not respond in time, and the connection was dropped; nothing was changed",
    )
    .hint(
        "check that the server is running; `answer_timeout` in the address sets how many seconds a statement may \
        take",
    )
}

/// Returns the error for a server that did not answer while a connection was opened.
pub(super) fn silent(shown: &Path) -> Error {
    Error::new(Code::Unavailable, format!("Cannot connect to `{}`: the server does not respond", shown.display())).hint(
        "check that the server is running; `connect_timeout` in the address sets how many seconds mcpkg waits for a connection",
    )
}

/// Whether a server refused the password.
pub(super) fn is_password(error: &postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION))
}

/// Returns the error for a connection that was lost during a commit.
pub(super) fn outcome_unknown(error: postgres::Error) -> Error {
    Error::new(
        Code::OutcomeUnknown,
        "The connection to the database server was lost during the commit; it is unknown whether the change was saved",
    )
    .hint("before you try again, check the latest changes with `mcpkg events`")
    .with_source(error)
}

/// Returns the error for a connection that could not be opened.
pub(super) fn unreachable(shown: &Path, error: postgres::Error) -> Error {
    use std::error::Error as _;
    let why = match error.as_db_error() {
        Some(failure) => failure.message().to_owned(),
        None => error.source().map_or_else(|| error.to_string(), ToString::to_string),
    };
    let hint = match error.code() {
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            "give the password in PGPASSFILE or ~/.pgpass, or as `password=env:NAME` in the address"
        }
        Some(&SqlState::UNDEFINED_DATABASE) => "create the database with `createdb`, or name another database",
        Some(&SqlState::TOO_MANY_CONNECTIONS) => {
            "lower `pool_size` in the address, or raise the server's max_connections"
        }
        _ => "check the host and the port, and that the server is running",
    };
    Error::new(Code::Unavailable, format!("Cannot connect to `{}`: {why}", shown.display()))
        .hint(hint)
        .with_source(error)
}

/// Returns whether `error` violates the primary key of `table`, or its UNIQUE constraint over `columns`. Recognizes them
/// by PostgreSQL's default names for constraints.
pub(in crate::engine) fn is_violated(error: &Error, table: &str, columns: &[&str]) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<postgres::Error>());
    let Some(failure) = source.and_then(postgres::Error::as_db_error) else { return false };
    let is_it = |name: &str| name == format!("{table}_{}_key", columns.join("_")) || name == format!("{table}_pkey");
    *failure.code() == SqlState::UNIQUE_VIOLATION && failure.constraint().is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_others_made_fail_can_be_tried_again() {
        for (code, is_again) in [("40P01", true), ("40001", true), ("55P03", true), ("23505", false), ("57014", false)]
        {
            assert_eq!(is_contention(&SqlState::from_code(code)), is_again, "{code}");
        }
    }
}
