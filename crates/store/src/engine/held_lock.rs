//! A held lock of either engine.

use super::{postgres, sqlite};
use mcpkg_base::error::Result;

/// A held lock. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) enum HeldLock {
    File(#[expect(dead_code, reason = "it is given back when it is dropped")] sqlite::FileLock),
    Session(postgres::SessionLock),
}

impl HeldLock {
    /// Returns the stamp to write with the next change under this lock. Only PostgreSQL needs one: a file lock cannot
    /// be lost while its process lives.
    pub(crate) fn stamp(&self) -> Option<postgres::Stamp> {
        match self {
            Self::File(_) => None,
            Self::Session(lock) => lock.stamp(),
        }
    }

    pub(crate) fn stamped(&self) {
        if let Self::Session(lock) = self {
            lock.stamped();
        }
    }

    /// Records that the database was moved while this lock kept other processes away. Does nothing for a file.
    ///
    /// # Errors
    /// `E_DB_IN_USE` if the lock was lost for a time.
    pub(crate) fn note_move(&self) -> Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Session(lock) => lock.note_move(),
        }
    }
}
