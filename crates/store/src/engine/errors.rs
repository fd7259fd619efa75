//! Errors that every engine gives.

use std::time::Duration;

use mcpkg_base::error::{Code, Error};

/// How long a writer waits for another process before it answers `E_DB_BUSY`, unless the address of a server says otherwise.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a writer of many transactions pauses between two of them: longer than waiting writers sleep between tries, so that those
/// come next.
pub(crate) const BETWEEN_WRITES: Duration = Duration::from_millis(5);

/// Returns the answer for a database that another process holds.
pub(crate) fn busy() -> Error {
    Error::new(Code::Busy, "The database is busy: another process kept the database locked for too long")
        .hint("try again; nothing was changed")
}

/// Returns the answer for a disk that takes no more.
pub(crate) fn full() -> Error {
    Error::new(Code::DiskFull, "The disk is full; nothing was written").hint("free some space; reads still work")
}

/// Returns the answer for a read that was ended.
pub(crate) fn timeout() -> Error {
    Error::new(Code::Timeout, "The read was stopped: it took too long, or its caller has stopped waiting")
        .hint("nothing was changed; request less data")
}

/// Returns the failure of a file that holds what mcpkg does not write.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(Code::NotDatabase, format!("The database is damaged: {what}")).hint(
        "`mcpkg check --deep` lists the damage; `mcpkg restore FILE` restores a backup (move the damaged file aside \
            first if necessary)",
    )
}
