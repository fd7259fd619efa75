//! An open database of one engine or another.

use std::path::{Path, PathBuf};

use super::connection::{Connection, Link, Pooled};
use super::progress::Progress;
use super::sqlite::{self, Access};
use crate::error::Result;
use crate::store::{Db, Location};

/// An open database.
pub(in crate::store) enum Engine {
    Sqlite(sqlite::Database),
}

impl Engine {
    /// As [`crate::store::Store::open`].
    pub(in crate::store) fn open(path: &Path) -> Result<Self> {
        sqlite::Database::open(path).map(Self::Sqlite)
    }

    /// As [`crate::store::Store::open_as_it_is`].
    pub(in crate::store) fn open_as_it_is(path: &Path) -> Result<Self> {
        sqlite::Database::open_as_it_is(path).map(Self::Sqlite)
    }

    pub(in crate::store) fn location(&self) -> Location<'_> {
        match self {
            Self::Sqlite(database) => Location::of_file(database.path()),
        }
    }

    /// As [`crate::store::Store::size`].
    pub(in crate::store) fn size(&self) -> u64 {
        match self {
            Self::Sqlite(database) => database.size(),
        }
    }

    pub(in crate::store) fn access(&self) -> Access {
        match self {
            Self::Sqlite(database) => database.access(),
        }
    }

    /// Takes a connection that reads out of the pool.
    pub(in crate::store) fn pooled_reader(&self) -> Result<Pooled> {
        match self {
            Self::Sqlite(database) => database.pooled_reader().map(Pooled::Sqlite),
        }
    }

    /// Takes a connection that writes out of the pool.
    pub(in crate::store) fn pooled_writer(&self) -> Result<Pooled> {
        match self {
            Self::Sqlite(database) => database.pooled_writer().map(Pooled::Sqlite),
        }
    }

    /// Returns what `f` returns with the connection that the database was opened with; `None` where a reader took it.
    pub(in crate::store) fn with_first<T>(&self, f: impl FnOnce(Link<'_>) -> T) -> Option<T> {
        match self {
            Self::Sqlite(database) => database.with_first(|connection| f(Link::Sqlite(connection))),
        }
    }

    /// Returns a connection of its own for a thread that reads all the time.
    pub(in crate::store) fn reader(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.reader().map(Connection::Sqlite),
        }
    }

    /// Returns a connection of its own for one of many that read.
    pub(in crate::store) fn slim_reader(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.slim_reader().map(Connection::Sqlite),
        }
    }

    /// Returns a connection of its own to look through everything with.
    pub(in crate::store) fn inspector(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.inspector().map(Connection::Sqlite),
        }
    }

    /// As [`crate::store::Store::checkpoint`].
    pub(in crate::store) fn checkpoint(&self) {
        match self {
            Self::Sqlite(database) => database.checkpoint(),
        }
    }

    /// Writes the database anew without what is free in it; see [`crate::store::Store::compact`].
    pub(in crate::store) fn compact(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.compact(),
        }
    }

    /// As [`crate::store::Store::free`].
    pub(in crate::store) fn free(&self) -> Result<u64> {
        match self {
            Self::Sqlite(database) => database.free(),
        }
    }

    /// Looks whether the database still is the one that was opened; from then on calls are refused where it is not.
    pub(in crate::store) fn notice_replacement(&self) {
        match self {
            Self::Sqlite(database) => database.notice_replacement(),
        }
    }

    /// Refuses to go on where the database was found replaced.
    ///
    /// # Errors
    /// `E_DB_REPLACED`.
    pub(in crate::store) fn check_in_place(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.check_in_place(),
        }
    }

    /// As [`crate::store::Store::backup`].
    pub(in crate::store) fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        match self {
            Self::Sqlite(database) => database.backup(to, progress),
        }
    }

    /// As [`crate::store::Store::restore`].
    pub(in crate::store) fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.restore(from, kept, carry, progress),
        }
    }

    /// As [`crate::store::Store::kept_beside`].
    pub(in crate::store) fn kept_beside(&self, timestamp: &str) -> PathBuf {
        match self {
            Self::Sqlite(database) => database.kept_beside(timestamp),
        }
    }
}
