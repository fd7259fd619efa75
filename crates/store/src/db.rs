//! [`Db`], on which all statements run: usually an open transaction.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::changes::Change;
use super::deadline::Watch;
use super::engine::{Intent, Link, Row, Sql, Value, damaged};
use mcpkg_base::error::{Error, Result};

/// An open transaction. All reads of a reading transaction see the same moment of the database. With `Db::new`, each
/// statement is its own transaction instead.
pub struct Db<'c> {
    connection: Link<'c>,
    watch: Option<&'c Watch>,
    intent: Intent,
    /// The keys that were passed to [`Db::is_first`].
    seen: RefCell<BTreeSet<String>>,
    /// The changes since the last event, which the next event lists.
    changes: RefCell<Vec<Change>>,
}

/// Work in a transaction. Not a generic parameter: the compiler would copy the code around it for each transaction of
/// mcpkg. [`once`] makes it from a function that returns a value.
pub(super) type Work<'f> = &'f mut dyn FnMut(&Db<'_>) -> Result<()>;

/// Passes `f` to `run` as [`Work`], which `run` may call once. Returns the value of `f`.
pub(super) fn once<T>(f: impl FnOnce(&Db<'_>) -> Result<T>, run: impl FnOnce(Work<'_>) -> Result<()>) -> Result<T> {
    let (mut f, mut value) = (Some(f), None);
    run(&mut |db| {
        let f = f.take().ok_or_else(|| Error::internal("a transaction was run twice"))?;
        value = Some(f(db)?);
        Ok(())
    })?;
    value.ok_or_else(|| Error::internal("a transaction was not run"))
}

impl<'c> Db<'c> {
    /// Returns a `Db` in which each statement is its own transaction. `watch` holds the deadline of reads on `connection`.
    pub(super) fn new(connection: Link<'c>, watch: Option<&'c Watch>) -> Self {
        Self { connection, watch, intent: Intent::Read, seen: RefCell::default(), changes: RefCell::default() }
    }

    /// Runs `f` in one transaction. Commits if `f` returns `Ok`, and otherwise changes nothing. `watch` holds the deadline of
    /// reads on `connection`.
    pub(super) fn in_transaction<T>(
        connection: Link<'c>,
        watch: Option<&'c Watch>,
        intent: Intent,
        f: impl FnOnce(&Db<'_>) -> Result<T>,
    ) -> Result<T> {
        once(f, |f| Self::transact(connection, watch, intent, f))
    }

    /// Like [`Db::in_transaction`], for work whose value [`once`] keeps.
    pub(super) fn transact(connection: Link<'c>, watch: Option<&'c Watch>, intent: Intent, f: Work<'_>) -> Result<()> {
        connection.in_transaction(intent, &mut || f(&Self { intent, ..Self::new(connection, watch) }))
    }

    /// Raises the time limit for each statement of this transaction, so that it can read much of the database. Use
    /// this only for maintenance that a person starts, such as pruning. All other statements have to be fast.
    pub fn allow_long(&self) {
        self.connection.allow_long();
    }

    pub(super) fn link(&self) -> Link<'c> {
        self.connection
    }

    /// Fails if the deadline of the current read has passed.
    pub fn check_deadline(&self) -> Result<()> {
        self.watch.map_or(Ok(()), Watch::check)
    }

    /// Whether others may write to other projects while this transaction is open.
    pub(super) fn is_beside_writers(&self) -> bool {
        self.intent == Intent::WriteProject && self.connection.has_many_writers()
    }

    /// Locks out other writers to the project with key `id`, until the transaction ends.
    pub(super) fn lock_project(&self, id: i64) -> Result<()> {
        self.connection.lock_project(id)
    }

    /// Locks the audit trail (`events`) until the transaction ends, so that its events are numbered in the order of
    /// commits.
    pub(super) fn lock_events(&self) -> Result<()> {
        if self.is_beside_writers() && self.is_first("events") { self.connection.lock_events() } else { Ok(()) }
    }

    /// Whether this is the first call for `key` in this transaction. For work that is done once, no matter how many rows are
    /// written.
    pub(super) fn is_first(&self, key: &str) -> bool {
        let mut seen = self.seen.borrow_mut();
        !seen.contains(key) && seen.insert(key.to_owned())
    }

    /// Notes that the state of an item changed, for the next event of this transaction.
    pub(super) fn note(&self, kind: &'static str, item: impl ToString, before: impl ToString, after: impl ToString) {
        let (item, before, after) = (item.to_string(), before.to_string(), after.to_string());
        self.changes.borrow_mut().push(Change { kind: kind.to_owned(), item, before, after });
    }

    /// Takes the changes since the last event.
    pub(super) fn take_changes(&self) -> Vec<Change> {
        self.changes.take()
    }

    /// Returns the number of rows that this connection has inserted, updated and deleted so far.
    pub fn changed_rows(&self) -> u64 {
        self.connection.changed_rows()
    }

    /// Applies `f` to the first row of a query; `None` if there is no row.
    ///
    /// # Errors
    /// Errors of `f`.
    pub(super) fn one<T>(
        &self,
        sql: Sql,
        params: &[Value<'_>],
        f: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let (mut f, mut value) = (Some(f), None);
        self.connection.one(sql, params, &mut |row| {
            value = f.take().map(|f| f(row)).transpose()?;
            Ok(())
        })?;
        Ok(value)
    }

    /// Applies `f` to the row of a query that always has exactly one, such as a count.
    pub(super) fn single<T>(&self, sql: Sql, params: &[Value<'_>], f: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<T> {
        self.one(sql, params, f)?.ok_or_else(|| damaged("a row that must always exist is missing"))
    }

    /// Applies `f` to each row of a query, in order, and returns the results.
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

    /// Calls `f` with each row of a query, in order. The row's values are borrowed from the statement.
    pub(super) fn each(&self, sql: Sql, params: &[Value<'_>], mut f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        self.connection.each(sql, params, &mut f)
    }

    /// Calls `f` with each row of a query as it arrives, for results that should not be in memory all at once. `f` must not run
    /// statements.
    pub(super) fn stream(
        &self,
        sql: Sql,
        params: &[Value<'_>],
        mut f: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.connection.stream(sql, params, &mut f)
    }

    /// Runs a statement and returns how many rows it inserted, updated or deleted.
    ///
    /// If something may happen only once, such as using a token, put the condition into the statement and check the
    /// count. Do not rely on there being only one writer: SQLite guarantees that, PostgreSQL does not.
    pub(super) fn run(&self, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
        self.connection.run(sql, params)
    }

    /// Runs a statement once for each row of parameters, in order, and returns the counts of [`Db::run`]. On PostgreSQL,
    /// many rows take one round trip.
    pub(super) fn run_for_each(&self, sql: Sql, rows: &[Vec<Value<'_>>]) -> Result<Vec<u64>> {
        self.connection.run_for_each(sql, rows)
    }

    /// Runs an INSERT that ends with `RETURNING id`, and returns the new row's id.
    pub(super) fn insert(&self, sql: Sql, params: &[Value<'_>]) -> Result<i64> {
        self.single(sql, params, |row| row.get(0))
    }
}
