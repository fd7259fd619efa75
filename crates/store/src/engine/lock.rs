//! Locks that end with the process that holds them, however it ends.

use uuid::Uuid;

/// The subject of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Serving,
    /// Applying deploys to this machine's disk.
    Applying,
    /// The tasks of one runner.
    Tasks(Uuid),
    Run(Uuid),
}

/// Whether several may hold a lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

impl Subject {
    /// Returns what the name of its lock file ends with.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Serving => ".serving".to_owned(),
            Self::Applying => ".applying".to_owned(),
            Self::Tasks(id) => format!(".tasks-{}", id.simple()),
            Self::Run(id) => format!(".run-{}", id.simple()),
        }
    }

    /// Whether there may be many of them, so that its file is removed with the lock.
    pub(super) fn is_one_of_many(self) -> bool {
        matches!(self, Self::Tasks(_) | Self::Run(_))
    }
}

/// Whether somebody holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    Held,
    /// Nobody does: a process that did has ended.
    Free,
    /// Unknown: a process on another machine held it and lost its connection, or the database does not answer.
    Unknown,
}
