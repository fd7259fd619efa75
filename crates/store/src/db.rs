//! An open transaction.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::deadline::Watch;
use super::engine::{Intent, Link, Row, Sql, Value, damaged};
use mcpkg_base::error::Result;

/// An open transaction. All its reads see one moment of the database.
pub struct Db<'c> {
    connection: Link<'c>,
    watch: Option<&'c Watch>,
    intent: Intent,
    /// The keys that [`Db::is_first`] was asked about.
    seen: RefCell<BTreeSet<String>>,
}

impl<'c> Db<'c> {
    /// Returns a `Db` each statement of which is its own transaction. `watch` is the one that `connection` has.
    pub(super) fn new(connection: Link<'c>, watch: Option<&'c Watch>) -> Self {
        Self { connection, watch, intent: Intent::Read, seen: RefCell::default() }
    }

    /// Runs `f` in one transaction; commits when it returns `Ok`, else changes nothing. `watch` is the one that
    /// `connection` has.
    pub(super) fn in_transaction<T>(
        connection: Link<'c>,
        watch: Option<&'c Watch>,
        intent: Intent,
        f: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        connection.in_transaction(intent, || f(&Self { intent, ..Self::new(connection, watch) }))
    }

    /// Lets each statement of this transaction take as long as one may that looks through much of the database: for work that a person
    /// starts to look after the database, such as pruning. The others have to be answered sooner.
    pub fn allow_long(&self) {
        self.connection.allow_long();
    }

    /// Returns the connection that it runs on.
    pub(super) fn link(&self) -> Link<'c> {
        self.connection
    }

    /// Refuses to go on once the read's deadline has passed.
    pub fn check_deadline(&self) -> Result<()> {
        self.watch.map_or(Ok(()), Watch::check)
    }

    /// Whether others may write to other projects while this transaction is open.
    pub(super) fn is_beside_writers(&self) -> bool {
        self.intent == Intent::WriteProject && self.connection.has_many_writers()
    }

    /// Excludes other writers to the project with key `id`, until the transaction ends.
    pub(super) fn lock_project(&self, id: i64) -> Result<()> {
        self.connection.lock_project(id)
    }

    /// Lets what this transaction appends to the trail be numbered in the order of commits.
    pub(super) fn lock_events(&self) -> Result<()> {
        if self.is_beside_writers() && self.is_first("events") { self.connection.lock_events() } else { Ok(()) }
    }

    /// Whether this is the first call for `key` in this transaction: what one transaction does once however many rows
    /// it writes.
    pub(super) fn is_first(&self, key: &str) -> bool {
        let mut seen = self.seen.borrow_mut();
        !seen.contains(key) && seen.insert(key.to_owned())
    }

    /// Returns how many rows this connection has inserted, updated and deleted so far.
    pub fn changed_rows(&self) -> u64 {
        self.connection.changed_rows()
    }

    /// Returns what `f` makes of the first row of a query; `None` where it has none.
    ///
    /// # Errors
    /// Errors of `f`, `E_TIMEOUT`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
    pub(super) fn one<T>(
        &self,
        sql: Sql,
        params: &[Value<'_>],
        f: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.connection.one(sql, params, f)
    }

    /// Returns what `f` makes of the row of a query that always has one, such as a count.
    pub(super) fn single<T>(&self, sql: Sql, params: &[Value<'_>], f: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<T> {
        self.one(sql, params, f)?.ok_or_else(|| damaged("a row that must always exist is missing"))
    }

    /// Returns what `f` makes of each row of a query, in their order.
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
    pub(super) fn each(&self, sql: Sql, params: &[Value<'_>], f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.connection.each(sql, params, f)
    }

    /// Hands `f` each row of a query as it comes: for rows that are not to be in memory all at once. `f` runs no statement.
    pub(super) fn stream(&self, sql: Sql, params: &[Value<'_>], f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.connection.stream(sql, params, f)
    }

    /// Runs a statement and returns how many rows it inserted, updated or deleted.
    ///
    /// Where something may happen once only, such as a token's use, the statement's condition decides and the caller
    /// counts the rows: that there is one writer is SQLite's habit and no rule.
    pub(super) fn run(&self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        self.connection.run(sql, params)
    }

    /// Runs an INSERT that ends with `RETURNING id`, and returns the new row's id.
    pub(super) fn insert(&self, sql: Sql, params: &[Value<'_>]) -> Result<i64> {
        self.single(sql, params, |row| row.get(0))
    }
}
