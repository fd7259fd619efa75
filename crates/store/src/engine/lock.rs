//! The kinds of locks: those of transactions, and those that a process holds until it ends, even if it is killed.

use uuid::Uuid;

/// The purpose of a transaction, which decides which other transactions have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    /// To write anything. Other writers wait until the transaction ends.
    Write,
    /// To write only to the one project that it locks, and to append events. On PostgreSQL, writers to other projects
    /// need not wait.
    WriteProject,
}

/// The subject that a lock protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Serving,
    /// Applying deploys to this machine's disk.
    Applying,
    /// The tasks of one runner.
    Tasks(Uuid),
    Run(Uuid),
}

/// Whether several processes may hold a lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

impl Subject {
    /// Returns the suffix of the lock file's name. PostgreSQL uses it in the names of its locks, too.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Serving => ".serving".to_owned(),
            Self::Applying => ".applying".to_owned(),
            Self::Tasks(id) => format!(".tasks-{}", id.simple()),
            Self::Run(id) => format!(".run-{}", id.simple()),
        }
    }

    /// Whether there may be many locks of this kind. The lock file of such a lock is removed when the lock is
    /// released.
    pub(super) fn is_one_of_many(self) -> bool {
        matches!(self, Self::Tasks(_) | Self::Run(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    Held,
    /// Nobody holds the lock. If a process held it, that process has ended.
    Free,
    /// Unknown: the last holder is a process on another machine that lost its connection, or the database does not
    /// answer.
    Unknown,
}
