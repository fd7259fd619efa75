//! Locks that are held.

use super::{postgres, sqlite};

/// A lock that is held; given back when dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "what they hold is given back when they are dropped")]
pub(in crate::store) enum Held {
    /// Of this machine.
    File(sqlite::FileLock),
    /// Of all machines.
    Session(postgres::SessionLock),
}
