//! The engine behind [`Db`]: statements, parameters, values and rows of our own, so that a table file names no engine.
//!
//! A table file writes each statement once, with [`sql!`], in the SQL that SQLite and PostgreSQL share;
//! docs/adr/0012-engines.md says what that is. What only SQLite has (opening, pragmas, full-text search, backup, the
//! meaning of its errors) stands in [`sqlite`], the one place that names rusqlite.
//!
//! There is one engine today. The enums [`Engine`], [`Connection`] and [`Link`] are where another one goes.

pub(super) mod sqlite;

mod connection;
mod database;
mod row;
mod sql;
mod value;

pub use connection::Version;
pub(super) use connection::{Connection, Intent, Link, Pooled};
pub(super) use database::Engine;
pub(super) use row::Row;
pub(super) use sql::{Sql, Unique, sql};
pub(super) use value::{ToValue, Value, params};

use super::Db;
use crate::error::{Code, Error, Result};

impl Db<'_> {
    /// Returns what `f` makes of the first row of a query; `None` where it has none.
    ///
    /// # Errors
    /// What `f` returns, `E_TIMEOUT`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
    pub(super) fn one<T>(
        &self,
        sql: Sql,
        params: &[Value<'_>],
        f: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Link::Sqlite(connection) = self.connection;
        sqlite::one(connection, sql, params, f)
    }

    /// Returns what `f` makes of the row of a query that always has one, such as a count.
    ///
    /// # Errors
    /// As [`Db::one`].
    pub(super) fn single<T>(&self, sql: Sql, params: &[Value<'_>], f: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<T> {
        self.one(sql, params, f)?.ok_or_else(|| damaged("a row that is always there is missing"))
    }

    /// Returns what `f` makes of each row of a query, in their order.
    ///
    /// # Errors
    /// As [`Db::one`].
    pub(super) fn all<T>(
        &self,
        sql: Sql,
        params: &[Value<'_>],
        mut f: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(sql, params, |row| {
            found.push(f(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Hands `f` each row of a query, in their order; what a row holds is borrowed from the statement.
    ///
    /// # Errors
    /// As [`Db::one`].
    pub(super) fn each(&self, sql: Sql, params: &[Value<'_>], f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        let Link::Sqlite(connection) = self.connection;
        sqlite::each(connection, sql, params, f)
    }

    /// Runs a statement and returns how many rows it inserted, updated or deleted.
    ///
    /// Where something may happen once only, such as a token's use, the statement's condition decides and the caller
    /// counts the rows: that there is one writer is SQLite's habit and no rule.
    ///
    /// # Errors
    /// As [`Db::one`]; [`Unique::is_violated_by`] tells a row that stands in the way.
    pub(super) fn run(&self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        let Link::Sqlite(connection) = self.connection;
        sqlite::run(connection, sql, params)
    }

    /// Runs an INSERT that ends with `RETURNING id`, and returns the new row's id.
    ///
    /// # Errors
    /// As [`Db::run`].
    pub(super) fn insert(&self, sql: Sql, params: &[Value<'_>]) -> Result<i64> {
        self.single(sql, params, |row| row.get(0))
    }
}

/// Returns the failure of a file that holds what mcpkg does not write.
pub(super) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(Code::NotDatabase, format!("The database is damaged: {what}"))
        .hint("`mcpkg check --deep` says where; `mcpkg restore FILE` brings back a backup, if need be with the damaged file moved aside")
}
