//! Locks that are held.

use super::{postgres, sqlite};
use mcpkg_base::error::Result;

/// A lock that is held; released when dropped.
#[derive(Debug)]
pub(crate) enum Held {
    File(#[expect(dead_code, reason = "it is given back when it is dropped")] sqlite::FileLock),
    Session(postgres::SessionLock),
}

impl Held {
    /// Returns what the next change of the holder is written with. A lock of a file is not lost while its process lives.
    pub(crate) fn stamp(&self) -> Option<postgres::Stamp> {
        match self {
            Self::File(_) => None,
            Self::Session(lock) => lock.stamp(),
        }
    }

    /// Notes that the last stamp was written.
    pub(crate) fn stamped(&self) {
        if let Self::Session(lock) = self {
            lock.stamped();
        }
    }

    /// Notes that the database was moved while this lock kept others away.
    ///
    /// # Errors
    /// `E_DB_IN_USE` where it was gone for a time.
    pub(crate) fn note_move(&self) -> Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Session(lock) => lock.note_move(),
        }
    }
}
