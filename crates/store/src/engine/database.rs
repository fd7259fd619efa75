//! An open database, on either of the two engines. Each method calls the engine's own.

use std::path::{Path, PathBuf};

use super::connection::{Connection, Link, Pooled};
use super::held_lock::HeldLock;
use super::lock::{Holding, Mode, Subject};
use super::postgres;
use super::progress::Progress;
use super::sqlite::{self, Access};
use crate::{Db, Location};
use mcpkg_base::error::Result;

pub(crate) enum Engine {
    Sqlite(Box<sqlite::Database>),
    Postgres(postgres::Database),
}

impl Engine {
    /// Implements [`crate::Store::open`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        match Self::is_server(path) {
            true => postgres::Database::open(path, false).map(Self::Postgres),
            false => sqlite::Database::open(path).map(|database| Self::Sqlite(Box::new(database))),
        }
    }

    /// Implements [`crate::Store::open_up_to_date`].
    pub(crate) fn open_up_to_date(path: &Path) -> Result<Self> {
        match Self::is_server(path) {
            true => postgres::Database::open(path, true).map(Self::Postgres),
            false => Self::open(path),
        }
    }

    /// Implements [`crate::Store::open_as_it_is`].
    pub(crate) fn open_as_it_is(path: &Path) -> Result<Self> {
        match Self::is_server(path) {
            true => postgres::Database::open_as_it_is(path).map(Self::Postgres),
            false => sqlite::Database::open_as_it_is(path).map(|database| Self::Sqlite(Box::new(database))),
        }
    }

    /// Implements [`crate::Store::is_at`].
    pub(crate) fn is_at(path: &Path) -> bool {
        Self::is_server(path) || sqlite::is_taken(path)
    }

    /// Implements [`crate::Store::is_server`].
    pub(crate) fn is_server(path: &Path) -> bool {
        postgres::is_address(path)
    }

    /// Implements [`crate::Store::read_passwords_with`].
    pub(crate) fn read_passwords_with(reader: fn(&str) -> Result<String>) {
        postgres::read_passwords_with(reader);
    }

    pub(crate) fn location(&self) -> Location<'_> {
        match self {
            Self::Sqlite(database) => Location::of_file(database.path()),
            Self::Postgres(database) => database.location(),
        }
    }

    /// Implements [`crate::Store::size`].
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Sqlite(database) => database.size(),
            Self::Postgres(database) => database.size(),
        }
    }

    /// Implements [`crate::Store::access`].
    pub(crate) fn access(&self) -> Result<Access> {
        match self {
            Self::Sqlite(database) => Ok(database.access()),
            Self::Postgres(database) => database.access(),
        }
    }

    /// Takes a reading connection from the pool.
    pub(crate) fn pooled_reader(&self) -> Result<Pooled> {
        match self {
            Self::Sqlite(database) => database.pooled_reader().map(|pooled| Pooled::Sqlite(Box::new(pooled))),
            Self::Postgres(database) => database.pooled_reader().map(|pooled| Pooled::Postgres(Box::new(pooled))),
        }
    }

    /// Takes a writing connection from the pool.
    pub(crate) fn pooled_writer(&self) -> Result<Pooled> {
        match self {
            Self::Sqlite(database) => database.pooled_writer().map(|pooled| Pooled::Sqlite(Box::new(pooled))),
            Self::Postgres(database) => database.pooled_writer().map(|pooled| Pooled::Postgres(Box::new(pooled))),
        }
    }

    /// See [`crate::Store::expect_write`].
    pub(crate) fn expect_write(&self) {
        match self {
            Self::Sqlite(database) => database.expect_write(),
            // PostgreSQL opens connections only when they are needed.
            Self::Postgres(_) => {}
        }
    }

    /// Calls `f` with the connection on which the database was opened, and returns the result. Returns `None` if a
    /// pool or a reader has taken that connection, and always on PostgreSQL.
    pub(crate) fn with_first<T>(&self, f: impl FnOnce(Link<'_>) -> T) -> Option<T> {
        match self {
            Self::Sqlite(database) => database.with_first(|connection| f(Link::Sqlite(connection))),
            Self::Postgres(_) => None,
        }
    }

    /// Opens a connection outside the pools, for a thread that reads all the time.
    pub(crate) fn reader(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.reader().map(Connection::Sqlite),
            Self::Postgres(database) => database.reader().map(|connection| Connection::Postgres(Box::new(connection))),
        }
    }

    /// Opens a connection outside the pools with a small cache, for one of many readers.
    pub(crate) fn slim_reader(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.slim_reader().map(Connection::Sqlite),
            Self::Postgres(database) => database.reader().map(|connection| Connection::Postgres(Box::new(connection))),
        }
    }

    /// Opens a connection outside the pools that waits for commits; see [`Link::wait`].
    pub(crate) fn listener(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.anchor().map(Connection::Sqlite),
            Self::Postgres(database) => {
                database.listener().map(|connection| Connection::Postgres(Box::new(connection)))
            }
        }
    }

    /// Notes that a connection from [`Engine::listener`] is about to be closed.
    pub(crate) fn listens_no_more(&self) {
        if let Self::Sqlite(database) = self {
            database.weigh_anchor();
        }
    }

    /// Returns how often the database was reopened. Connections from before the last reopening have to be opened again.
    pub(crate) fn epoch(&self) -> u64 {
        match self {
            Self::Sqlite(database) => database.epoch(),
            Self::Postgres(_) => 0,
        }
    }

    /// Opens a connection outside the pools for checks that read the whole database.
    pub(crate) fn inspector(&self) -> Result<Connection> {
        match self {
            Self::Sqlite(database) => database.inspector().map(Connection::Sqlite),
            Self::Postgres(database) => {
                database.inspector().map(|connection| Connection::Postgres(Box::new(connection)))
            }
        }
    }

    /// Implements [`crate::Store::checkpoint`].
    pub(crate) fn checkpoint(&self) {
        match self {
            Self::Sqlite(database) => database.checkpoint(),
            Self::Postgres(_) => {}
        }
    }

    /// Implements [`crate::Store::compact`].
    pub(crate) fn compact(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.compact(),
            Self::Postgres(database) => database.compact(),
        }
    }

    /// Implements [`crate::Store::free`].
    pub(crate) fn free(&self) -> Result<u64> {
        match self {
            Self::Sqlite(database) => database.free(),
            // PostgreSQL reuses free space for new rows.
            Self::Postgres(_) => Ok(0),
        }
    }

    /// Checks whether the database is still the one that was opened. If it is not, [`Engine::check_in_place`] fails
    /// until it is again. Does nothing on PostgreSQL.
    pub(crate) fn notice_replacement(&self) {
        match self {
            Self::Sqlite(database) => database.notice_replacement(),
            Self::Postgres(_) => {}
        }
    }

    /// Fails if [`Engine::notice_replacement`] has found that the database was replaced.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.check_in_place(),
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Implements [`crate::Store::backup`].
    pub(crate) fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        match self {
            Self::Sqlite(database) => database.backup(to, progress),
            Self::Postgres(database) => database.backup(to, progress),
        }
    }

    /// Implements [`crate::Store::restore`].
    pub(crate) fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.restore(from, kept, carry, progress),
            Self::Postgres(database) => database.restore(from, kept, carry, progress),
        }
    }

    /// Implements [`crate::Store::check_backup`].
    pub(crate) fn check_backup(&self, from: &Path) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.check_backup(from),
            Self::Postgres(_) => sqlite::backup::check_backup(from),
        }
    }

    /// Implements [`crate::Store::kept_beside`].
    pub(crate) fn kept_beside(&self, timestamp: &str) -> PathBuf {
        match self {
            Self::Sqlite(database) => database.kept_beside(timestamp),
            Self::Postgres(database) => database.kept_beside(timestamp),
        }
    }

    /// Takes a lock; `None` if somebody else holds it.
    pub(crate) fn lock(&self, subject: Subject, mode: Mode) -> Result<Option<HeldLock>> {
        match self {
            Self::Sqlite(database) => Ok(sqlite::take(database.path(), subject, mode)?.map(HeldLock::File)),
            // Deploys write to this machine's disk, so a lock on this machine is enough.
            Self::Postgres(database) if subject == Subject::Applying => {
                Ok(sqlite::take(database.local(), subject, mode)?.map(HeldLock::File))
            }
            Self::Postgres(database) => Ok(database.lock(subject, mode)?.map(HeldLock::Session)),
        }
    }

    pub(crate) fn holding(&self, subject: Subject) -> Holding {
        match self {
            Self::Sqlite(database) if sqlite::is_held(database.path(), subject) => Holding::Held,
            Self::Sqlite(_) => Holding::Free,
            Self::Postgres(database) => database.holding(subject).unwrap_or(Holding::Unknown),
        }
    }
}
