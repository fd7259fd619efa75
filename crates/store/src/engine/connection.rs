//! Connections to a database of either engine, on which statements run.

use std::time::Duration;

use super::lock::Intent;
use super::postgres;
use super::row::Row;
use super::sql::Sql;
use super::sqlite;
use super::value::Value;
use mcpkg_base::error::Result;

/// A connection outside of the pools.
pub(crate) enum Connection {
    Sqlite(sqlite::Connection),
    Postgres(Box<postgres::Connection>),
}

/// A connection from a pool, returned to it when dropped.
pub(crate) enum Pooled {
    Sqlite(Box<sqlite::Pooled>),
    Postgres(Box<postgres::Pooled>),
}

/// A borrowed connection to either engine, on which [`Db`](crate::Db) runs its statements.
#[derive(Clone, Copy)]
pub(crate) enum Link<'c> {
    Sqlite(&'c sqlite::Connection),
    Postgres(&'c postgres::Connection),
}

/// A number that changes with every commit. It has no other meaning. No database has the default value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version(i64);

impl Version {
    /// Mixes an epoch into the version, so that versions from connections of different epochs differ (see
    /// [`Engine::epoch`](super::Engine::epoch)).
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

/// Reads a row. Not a generic parameter: the compiler would copy the code of both engines for each query of mcpkg.
pub(crate) type Read<'f> = &'f mut dyn FnMut(&Row<'_>) -> Result<()>;

impl<'c> Link<'c> {
    /// Implements [`Db::one`](crate::Db::one).
    pub(crate) fn one(self, sql: Sql, params: &[Value<'_>], f: Read<'_>) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::one(connection, sql, params, &mut |row| f(&row.into())),
            Self::Postgres(connection) => postgres::one(connection, sql, params, &mut |row| f(&row.into())),
        }
    }

    /// Implements [`Db::each`](crate::Db::each).
    pub(crate) fn each(self, sql: Sql, params: &[Value<'_>], f: Read<'_>) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::each(connection, sql, params, &mut |row| f(&row.into())),
            Self::Postgres(connection) => postgres::each(connection, sql, params, &mut |row| f(&row.into())),
        }
    }

    /// Implements [`Db::stream`](crate::Db::stream).
    pub(crate) fn stream(self, sql: Sql, params: &[Value<'_>], f: Read<'_>) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::each(connection, sql, params, &mut |row| f(&row.into())),
            Self::Postgres(connection) => postgres::stream(connection, sql, params, &mut |row| f(&row.into())),
        }
    }

    /// Implements [`Db::run`](crate::Db::run).
    pub(crate) fn run(self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => sqlite::run(connection, sql, params),
            Self::Postgres(connection) => postgres::run(connection, sql, params),
        }
    }

    /// Implements [`Db::run_for_each`](crate::Db::run_for_each).
    pub(crate) fn run_for_each(self, sql: Sql, rows: &[Vec<Value<'_>>]) -> Result<Vec<u64>> {
        match self {
            Self::Sqlite(connection) => rows.iter().map(|row| sqlite::run(connection, sql, row)).collect(),
            Self::Postgres(connection) => postgres::run_for_each(connection, sql, rows),
        }
    }

    /// Runs `f` in one transaction. Commits if `f` returns `Ok`, and otherwise changes nothing.
    pub(crate) fn in_transaction(self, intent: Intent, f: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlite::in_transaction(connection, intent, f),
            Self::Postgres(connection) => postgres::in_transaction(connection, intent, f),
        }
    }

    /// Implements [`Db::allow_long`](crate::Db::allow_long). Does nothing on SQLite, where statements have no time
    /// limit of their own.
    pub(crate) fn allow_long(self) {
        if let Self::Postgres(connection) = self {
            postgres::allow_long(connection);
        }
    }

    /// Whether transactions of [`Intent::WriteProject`] run concurrently.
    pub(crate) fn has_many_writers(self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Locks a project until this transaction ends. Waits for other transactions that have locked it.
    pub(crate) fn lock_project(self, id: i64) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => postgres::lock_project(connection, id),
        }
    }

    /// Takes the lock for appending events until this transaction ends. Waits for other transactions that hold it.
    pub(crate) fn lock_events(self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(connection) => postgres::lock_events(connection),
        }
    }

    /// Returns a version that differs from the previous one if any process has committed in between.
    pub(crate) fn version(self) -> Result<Version> {
        match self {
            Self::Sqlite(connection) => sqlite::data_version(connection).map(Version),
            Self::Postgres(connection) => postgres::version(connection).map(Version),
        }
    }

    /// Runs `f`, and returns its result with the version of the database that the first read in `f` saw. The version
    /// is `None` if no read found anything. On SQLite it is always `None`: asking for it separately is cheap there,
    /// while on PostgreSQL it would take another round trip.
    pub(crate) fn telling<T>(self, f: impl FnOnce() -> T) -> (T, Option<Version>) {
        match self {
            Self::Sqlite(_) => (f(), None),
            Self::Postgres(connection) => {
                let (value, version) = connection.telling(f);
                (value, version.map(Version))
            }
        }
    }

    /// Whether reads report the version that they saw; see [`Link::telling`].
    pub(crate) fn tells(self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Waits for a commit, on a connection of [`Engine::listener`](super::Engine::listener). The wait takes at most
    /// `limit`, or half a second if the server notifies of commits. Returns whether there may have been a commit.
    pub(crate) fn wait(self, limit: Duration) -> Result<bool> {
        match self {
            Self::Sqlite(_) => {
                std::thread::sleep(limit);
                Ok(true)
            }
            Self::Postgres(connection) => connection.wait(limit),
        }
    }

    /// Returns the number of rows that this connection has inserted, updated or deleted so far.
    pub(crate) fn changed_rows(self) -> u64 {
        match self {
            Self::Sqlite(connection) => connection.total_changes(),
            Self::Postgres(connection) => connection.changed_rows(),
        }
    }

    /// Calls `has_passed` regularly while a statement runs, until [`Link::release`]. Once it returns true, the statement ends
    /// with `E_TIMEOUT`.
    pub(crate) fn watch(self, has_passed: impl FnMut() -> bool + Send + 'static) -> Result<()> {
        /// How many steps SQLite's virtual machine takes between two checks of the deadline: some tens of microseconds.
        const STEPS: i32 = 4_000;
        match self {
            Self::Sqlite(connection) => connection.progress_handler(STEPS, Some(has_passed)).map_err(sqlite::failed),
            Self::Postgres(connection) => connection.watch(has_passed),
        }
    }

    /// Stops the checks that [`Link::watch`] started.
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

    /// Returns the faults that the engine itself finds in its file, one per line.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` if the damage is so large that the check itself fails.
    pub(crate) fn faults(self) -> Result<Vec<String>> {
        match self {
            Self::Sqlite(connection) => sqlite::faults(connection),
            // PostgreSQL checks its own files, and reports damage as an error of the statement that finds it.
            Self::Postgres(_) => Ok(Vec::new()),
        }
    }
}
