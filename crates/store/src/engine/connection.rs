//! Connections: what statements run on.

use std::time::Duration;

use super::intent::Intent;
use super::postgres;
use super::row::Row;
use super::sql::Sql;
use super::sqlite;
use super::value::Value;
use crate::error::Result;

/// A connection of its own.
pub(in crate::store) enum Connection {
    Sqlite(sqlite::Connection),
    Postgres(Box<postgres::Connection>),
}

/// A connection from a pool, returned to it when dropped.
pub(in crate::store) enum Pooled {
    Sqlite(Box<sqlite::Pooled>),
    Postgres(Box<postgres::Pooled>),
}

/// A connection that is lent: what [`Db`](crate::store::Db) speaks to.
#[derive(Clone, Copy)]
pub(in crate::store) enum Link<'c> {
    Sqlite(&'c sqlite::Connection),
    Postgres(&'c postgres::Connection),
}

/// A value that differs after any commit; nothing else can be read from it. No database has the default value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version(i64);

impl Version {
    /// Returns what it is on a connection that was opened after the database was opened in another way `epoch` times: connections
    /// count by themselves.
    pub(in crate::store) fn in_epoch(self, epoch: u64) -> Self {
        Self(self.0 ^ (epoch << 40).cast_signed())
    }
}

#[cfg(test)]
impl From<i64> for Version {
    fn from(version: i64) -> Self {
        Self(version)
    }
}

impl Connection {
    pub(in crate::store) fn link(&self) -> Link<'_> {
        match self {
            Self::Sqlite(connection) => Link::Sqlite(connection),
            Self::Postgres(connection) => Link::Postgres(connection),
        }
    }
}

impl Pooled {
    pub(in crate::store) fn link(&self) -> Link<'_> {
        match self {
            Self::Sqlite(connection) => Link::Sqlite(connection),
            Self::Postgres(connection) => Link::Postgres(connection),
        }
    }
}

impl<'c> Link<'c> {
    /// As [`Db::one`](crate::store::Db::one).
    pub(in crate::store) fn one<T>(
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

    /// As [`Db::each`](crate::store::Db::each).
    pub(in crate::store) fn each(
        self,
        sql: Sql,
        params: &[Value<'_>],
        mut f: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::each(connection, sql, params, |row| f(&row.into())),
            Self::Postgres(connection) => postgres::each(connection, sql, params, |row| f(&row.into())),
        }
    }

    /// As [`Db::stream`](crate::store::Db::stream).
    pub(in crate::store) fn stream(
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

    /// As [`Db::run`](crate::store::Db::run).
    pub(in crate::store) fn run(self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => sqlite::run(connection, sql, params),
            Self::Postgres(connection) => postgres::run(connection, sql, params),
        }
    }

    /// Runs `f` in one transaction; commits when it returns `Ok`, else changes nothing.
    ///
    /// # Errors
    /// Errors of `f`, `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`.
    pub(in crate::store) fn in_transaction<T>(self, intent: Intent, f: impl FnOnce() -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(connection) => sqlite::in_transaction(connection, intent, f),
            Self::Postgres(connection) => postgres::in_transaction(connection, intent, f),
        }
    }

    /// As [`Db::allow_long`](crate::store::Db::allow_long). SQLite's statements have no deadline.
    pub(in crate::store) fn allow_long(self) {
        if let Self::Postgres(connection) = self {
            postgres::allow_long(connection);
        }
    }

    /// Whether transactions of [`Intent::WriteProject`] run concurrently.
    pub(in crate::store) fn has_many_writers(self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Waits until no other transaction has locked this project, and locks it until this one has ended.
    ///
    /// # Errors
    /// `E_DB_BUSY`, `E_STORAGE`.
    pub(in crate::store) fn lock_project(self, id: i64) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => postgres::lock_project(connection, id),
        }
    }

    /// Waits until no other transaction that appended events is open, and is the one that may until it has ended.
    ///
    /// # Errors
    /// `E_DB_BUSY`, `E_STORAGE`.
    pub(in crate::store) fn lock_events(self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => postgres::lock_events(connection),
        }
    }

    /// Returns what differs from the last one where anything was committed between, by any process.
    ///
    /// # Errors
    /// `E_DB_BUSY`, `E_STORAGE`.
    pub(in crate::store) fn version(self) -> Result<Version> {
        match self {
            Self::Sqlite(connection) => sqlite::data_version(connection).map(Version),
            Self::Postgres(connection) => postgres::version(connection).map(Version),
        }
    }

    /// Runs `f` and returns what it returns, with the version of the database that the first of its reads on this connection saw:
    /// where a look at the version is a round trip. Else `None`, since a look costs little, and where no read found
    /// anything.
    pub(in crate::store) fn telling<T>(self, f: impl FnOnce() -> T) -> (T, Option<Version>) {
        match self {
            Self::Sqlite(_) => (f(), None),
            Self::Postgres(connection) => {
                let (value, version) = connection.telling(f);
                (value, version.map(Version))
            }
        }
    }

    /// Whether reads report which version they saw; see [`Link::telling`].
    pub(in crate::store) fn tells(self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Waits until something may have been committed, for at most `limit`, or half a second where commits are told; on a connection of
    /// [`Engine::listener`](super::Engine::listener).
    /// Returns whether something may have been.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the connection was lost.
    pub(in crate::store) fn wait(self, limit: Duration) -> Result<bool> {
        match self {
            Self::Sqlite(_) => {
                std::thread::sleep(limit);
                Ok(true)
            }
            Self::Postgres(connection) => connection.wait(limit),
        }
    }

    /// Returns how many rows this connection has inserted, updated and deleted so far.
    pub(in crate::store) fn changed_rows(self) -> u64 {
        match self {
            Self::Sqlite(connection) => connection.total_changes(),
            Self::Postgres(connection) => connection.changed_rows(),
        }
    }

    /// Until [`Link::release`], asks `has_passed` regularly while a statement runs, and ends it with `E_TIMEOUT` once that returns true.
    ///
    /// # Errors
    /// `E_INTERNAL`.
    pub(in crate::store) fn watch(self, has_passed: impl FnMut() -> bool + Send + 'static) -> Result<()> {
        /// Steps of SQLite's virtual machine between two looks at the clock: some tens of microseconds.
        const STEPS: i32 = 4_000;
        match self {
            Self::Sqlite(connection) => Ok(connection.progress_handler(STEPS, Some(has_passed))?),
            Self::Postgres(connection) => connection.watch(has_passed),
        }
    }

    /// Takes a deadline off.
    pub(in crate::store) fn release(self) {
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
    pub(in crate::store) fn faults(self) -> Result<Vec<String>> {
        match self {
            Self::Sqlite(connection) => sqlite::faults(connection),
            // PostgreSQL looks after its files itself; what it finds comes with the statement that met it.
            Self::Postgres(_) => Ok(Vec::new()),
        }
    }
}
