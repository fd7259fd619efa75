//! Errors that both engines return.

use std::time::Duration;

use mcpkg_base::error::{Code, Error};

/// How long a writer waits for another process before it fails with `E_DB_BUSY`. The URL of a PostgreSQL server can set
/// another timeout.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to pause between two transactions of a long series. Waiting writers retry at shorter intervals, so each
/// pause gives them a turn.
pub(crate) const BETWEEN_WRITES: Duration = Duration::from_millis(5);

/// Returns the error for a database that another process has locked.
pub(crate) fn busy() -> Error {
    Error::new(Code::Busy, "The database is busy: another process kept the database locked for too long")
        .hint("try again; nothing was changed")
}

/// Returns the error for a full disk.
pub(crate) fn full() -> Error {
    Error::new(Code::DiskFull, "The disk is full; nothing was written").hint("free some space; reads still work")
}

/// Returns the error for a read that took too long.
pub(crate) fn timeout() -> Error {
    Error::new(Code::Timeout, "The read was stopped: it took too long, or its caller has stopped waiting")
        .hint("nothing was changed; request less data")
}

/// Returns the error for a database with content that mcpkg would never write.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(Code::NotDatabase, format!("The database is damaged: {what}")).hint(
        "`mcpkg check --deep` lists the damage; `mcpkg restore FILE` restores a backup (move the damaged file aside \
            first if necessary)",
    )
}
