//! Connections: what statements run on.

use std::time::Duration;

use super::intent::Intent;
use super::postgres;
use super::row::Row;
use super::sql::Sql;
use super::sqlite;
use super::value::Value;
use mcpkg_base::error::Result;

/// A connection of its own.
pub(crate) enum Connection {
    Sqlite(sqlite::Connection),
    Postgres(Box<postgres::Connection>),
}

/// A connection from a pool, returned to it when dropped.
pub(crate) enum Pooled {
    Sqlite(Box<sqlite::Pooled>),
    Postgres(Box<postgres::Pooled>),
}

/// A connection that is lent: what [`Db`](crate::Db) speaks to.
#[derive(Clone, Copy)]
pub(crate) enum Link<'c> {
    Sqlite(&'c sqlite::Connection),
    Postgres(&'c postgres::Connection),
}

/// A value that differs after any commit; nothing else can be read from it. No database has the default value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version(i64);

impl Version {
    /// Returns what it is on a connection that was opened after the database was opened in another way `epoch` times: connections
    /// count by themselves.
    pub(crate) fn in_epoch(self, epoch: u64) -> Self {
        Self(self.0 ^ (epoch << 40).cast_signed())
    }
}

impl From<i64> for Version {
    fn from(version: i64) -> Self {
        Self(version)
    }
}

impl Connection {
    pub(crate) fn link(&self) -> Link<'_> {
        match self {
            Self::Sqlite(connection) => Link::Sqlite(connection),
            Self::Postgres(connection) => Link::Postgres(connection),
        }
    }
}

impl Pooled {
    pub(crate) fn link(&self) -> Link<'_> {
        match self {
            Self::Sqlite(connection) => Link::Sqlite(connection),
            Self::Postgres(connection) => Link::Postgres(connection),
        }
    }
}

impl<'c> Link<'c> {
    /// As [`Db::one`](crate::Db::one).
    pub(crate) fn one<T>(
        self,
        sql: Sql,
        params: &[Value<'_>],
        f: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        match self {
            Self::Sqlite(connection) => sqlite::one(connection, sql, params, |row| f(&row.into())),
            Self::Postgres(connection) => postgres::one(connection, sql, params, |row| f(&row.into())),
        }
    }

    /// As [`Db::each`](crate::Db::each).
    pub(crate) fn each(self, sql: Sql, params: &[Value<'_>], mut f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::each(connection, sql, params, |row| f(&row.into())),
            Self::Postgres(connection) => postgres::each(connection, sql, params, |row| f(&row.into())),
        }
    }

    /// As [`Db::stream`](crate::Db::stream).
    pub(crate) fn stream(
        self,
        sql: Sql,
        params: &[Value<'_>],
        mut f: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::each(connection, sql, params, |row| f(&row.into())),
            Self::Postgres(connection) => postgres::stream(connection, sql, params, |row| f(&row.into())),
        }
    }

    /// As [`Db::run`](crate::Db::run).
    pub(crate) fn run(self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => sqlite::run(connection, sql, params),
            Self::Postgres(connection) => postgres::run(connection, sql, params),
        }
    }

    /// Runs `f` in one transaction; commits when it returns `Ok`, else changes nothing.
    pub(crate) fn in_transaction<T>(self, intent: Intent, f: impl FnOnce() -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(connection) => sqlite::in_transaction(connection, intent, f),
            Self::Postgres(connection) => postgres::in_transaction(connection, intent, f),
        }
    }

    /// As [`Db::allow_long`](crate::Db::allow_long). SQLite's statements have no deadline.
    pub(crate) fn allow_long(self) {
        if let Self::Postgres(connection) = self {
            postgres::allow_long(connection);
        }
    }

    /// Whether transactions of [`Intent::WriteProject`] run concurrently.
    pub(crate) fn has_many_writers(self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Waits until no other transaction has locked this project, and locks it until this one has ended.
    pub(crate) fn lock_project(self, id: i64) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => postgres::lock_project(connection, id),
        }
    }

    /// Waits until no other transaction that appended events is open, and is the one that may until it has ended.
    pub(crate) fn lock_events(self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => postgres::lock_events(connection),
        }
    }

    /// Returns what differs from the last one where anything was committed between, by any process.
    pub(crate) fn version(self) -> Result<Version> {
        match self {
            Self::Sqlite(connection) => sqlite::data_version(connection).map(Version),
            Self::Postgres(connection) => postgres::version(connection).map(Version),
        }
    }

    /// Runs `f` and returns what it returns, with the version of the database that the first of its reads on this connection saw:
    /// where a look at the version is a round trip. Else `None`, since a look costs little, and where no read found
    /// anything.
    pub(crate) fn telling<T>(self, f: impl FnOnce() -> T) -> (T, Option<Version>) {
        match self {
            Self::Sqlite(_) => (f(), None),
            Self::Postgres(connection) => {
                let (value, version) = connection.telling(f);
                (value, version.map(Version))
            }
        }
    }

    /// Whether reads report which version they saw; see [`Link::telling`].
    pub(crate) fn tells(self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Waits until something may have been committed, for at most `limit`, or half a second where commits are told; on a connection of
    /// [`Engine::listener`](super::Engine::listener).
    /// Returns whether something may have been.
    pub(crate) fn wait(self, limit: Duration) -> Result<bool> {
        match self {
            Self::Sqlite(_) => {
                std::thread::sleep(limit);
                Ok(true)
            }
            Self::Postgres(connection) => connection.wait(limit),
        }
    }

    /// Returns how many rows this connection has inserted, updated and deleted so far.
    pub(crate) fn changed_rows(self) -> u64 {
        match self {
            Self::Sqlite(connection) => connection.total_changes(),
            Self::Postgres(connection) => connection.changed_rows(),
        }
    }

    /// Until [`Link::release`], asks `has_passed` regularly while a statement runs, and ends it with `E_TIMEOUT` once that returns true.
    pub(crate) fn watch(self, has_passed: impl FnMut() -> bool + Send + 'static) -> Result<()> {
        /// Steps of SQLite's virtual machine between two looks at the clock: some tens of microseconds.
        const STEPS: i32 = 4_000;
        match self {
            Self::Sqlite(connection) => connection.progress_handler(STEPS, Some(has_passed)).map_err(sqlite::failed),
            Self::Postgres(connection) => connection.watch(has_passed),
        }
    }

    /// Takes a deadline off.
    pub(crate) fn release(self) {
        match self {
            Self::Sqlite(connection) => {
                if let Err(error) = connection.progress_handler(0, None::<fn() -> bool>) {
                    tracing::error!(%error, "a deadline could not be taken off a connection");
                }
            }
            Self::Postgres(connection) => connection.release(),
        }
    }

    /// Returns what the engine itself finds wrong with its file, a line each.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` where the damage is so large that the check itself fails.
    pub(crate) fn faults(self) -> Result<Vec<String>> {
        match self {
            Self::Sqlite(connection) => sqlite::faults(connection),
            // PostgreSQL looks after its files itself; what it finds comes with the statement that met it.
            Self::Postgres(_) => Ok(Vec::new()),
        }
    }
}
