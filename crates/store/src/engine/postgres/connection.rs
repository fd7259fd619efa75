//! A connection to a PostgreSQL server: its statements, its transaction, and how it reconnects after a loss.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use postgres::{Row, SimpleQueryMessage};
use tokio::task::block_in_place;

use super::address::CHANNEL;
use super::client::{Client, LONG};
use super::connect::Connector;
use super::deadline::Watched;
use super::errors::{failed, is_cancelled, is_lost, no_answer};
use super::snapshot::{self, VersionRead};
use super::statement::{Form, Statement, Statements};
use crate::engine::{Sql, Value, busy};
use mcpkg_base::error::{Code, Error, Result};

/// How long to wait for the server's notification of a commit before checking without one.
const TOLD: Duration = Duration::from_millis(500);

pub(crate) struct Connection {
    pub(super) connector: Connector,
    client: RefCell<Client>,
    statements: RefCell<Statements>,
    /// How many cursors were opened on this connection.
    cursors: Cell<u64>,
    changed: Cell<u64>,
    pub(super) transaction: Cell<Transaction>,
    /// Whether the server notifies this connection of commits.
    is_told: Cell<bool>,
    watched: RefCell<Option<Arc<Watched>>>,
    /// Whether the next read reports which version of the database it saw.
    version_read: Cell<VersionRead>,
    /// Whether something depends on this connection, such as a lock, so that it must not be replaced.
    is_bound: Cell<bool>,
}

/// The state of a connection's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    /// No transaction is open: each statement is its own transaction.
    None,
    Open,
    /// A statement failed, and PostgreSQL accepts no further one.
    Failed,
}

impl Connection {
    /// Connects; see [`Connector::connect`].
    pub(super) fn open(connector: &Connector) -> Result<Self> {
        Ok(Self {
            connector: connector.clone(),
            client: RefCell::new(connector.connect()?),
            statements: RefCell::default(),
            cursors: Cell::new(0),
            changed: Cell::new(0),
            transaction: Cell::new(Transaction::None),
            is_told: Cell::new(false),
            watched: RefCell::new(None),
            version_read: Cell::new(VersionRead::NotAsked),
            is_bound: Cell::new(false),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.borrow().is_closed()
    }

    /// Returns how many rows this connection has inserted, updated and deleted.
    pub(in crate::engine) fn changed_rows(&self) -> u64 {
        self.changed.get()
    }

    pub(super) fn add_changed(&self, rows: u64) {
        self.changed.set(self.changed.get() + rows);
    }

    /// Runs a statement. If the connection was lost outside of a transaction, runs the statement once more on a new
    /// connection. That is safe because, outside of transactions, only bound connections write, and those are never
    /// replaced.
    pub(super) fn run<T>(
        &self,
        sql: Sql,
        mut work: impl FnMut(&mut Client, &Statement) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        self.again_where_lost(|| {
            let client = &mut *self.client.borrow_mut();
            let statement = self.statements.borrow_mut().next(client, sql, Form::default())?;
            work(client, &statement)
        })
    }

    /// Runs a query as [`Connection::run`] does, and returns its rows. If the query reports which version of the database it
    /// saw, each row has one more column.
    pub(super) fn query(&self, sql: Sql, params: &[Value<'_>]) -> Result<Vec<Row>> {
        self.query_as(sql, params, false)
    }

    /// Like [`Connection::query`], but returns at most as many rows as [`super::sql::cut`] allows.
    pub(super) fn beginning(&self, sql: Sql, params: &[Value<'_>]) -> Result<Vec<Row>> {
        self.query_as(sql, params, true)
    }

    fn query_as(&self, sql: Sql, params: &[Value<'_>], is_cut: bool) -> Result<Vec<Row>> {
        let form = Form { is_cut, tells: self.is_asked() && self.transaction.get() == Transaction::None };
        let rows = self.again_where_lost(|| {
            let client = &mut *self.client.borrow_mut();
            let statement = self.statements.borrow_mut().next(client, sql, form)?;
            statement.query(client, params)
        })?;
        if let (true, Some(row)) = (form.tells, rows.first()) {
            self.version_read.set(VersionRead::Version(snapshot::of(row.get(row.len() - 1))));
        }
        Ok(rows)
    }

    /// Begins a reading transaction with the statement `begin`. If the next read was asked to report which version of
    /// the database it saw, the version is read here instead.
    pub(super) fn begin_reading(&self, begin: &str) -> Result<()> {
        if self.version_read.get() != VersionRead::Asked {
            return self.run_text(begin);
        }
        let text = format!("{begin}; {}", snapshot::LOOK);
        let told = self.simple_query(&text)?;
        for message in &told {
            if let SimpleQueryMessage::Row(row) = message {
                self.version_read
                    .set(row.get(0).map_or(VersionRead::NotAsked, |seen| VersionRead::Version(snapshot::of(seen))));
            }
        }
        Ok(())
    }

    /// Runs `f`, and returns its result with the version of the database that its first read saw; `None` if no read found
    /// anything.
    pub(in crate::engine) fn telling<T>(&self, f: impl FnOnce() -> T) -> (T, Option<i64>) {
        self.version_read.set(VersionRead::Asked);
        let value = f();
        match self.version_read.replace(VersionRead::NotAsked) {
            VersionRead::Version(version) => (value, Some(version)),
            VersionRead::NotAsked | VersionRead::Asked => (value, None),
        }
    }

    /// Whether the next read reports which version of the database it saw.
    pub(super) fn is_asked(&self) -> bool {
        self.version_read.get() == VersionRead::Asked
    }

    /// Makes the next read report its version, replacing the one reported before.
    pub(super) fn ask_again(&self) {
        self.version_read.set(VersionRead::Asked);
    }

    /// Returns a number for a new cursor.
    pub(super) fn next_cursor(&self) -> u64 {
        self.cursors.update(|number| number + 1);
        self.cursors.get()
    }

    /// Runs `f` with the client, for work that [`Connection::run`] cannot do, such as `COPY`. Never reconnects. If
    /// `f` fails, the open transaction has failed.
    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Client) -> Result<T>) -> Result<T> {
        f(&mut self.client.borrow_mut()).inspect_err(|_| self.fail())
    }

    /// Runs `f` with the client, under the deadline of this connection. Repeats `f` if the connection was lost.
    pub(super) fn timed<T>(
        &self,
        mut f: impl FnMut(&mut Client) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        self.again_where_lost(|| f(&mut self.client.borrow_mut()))
    }

    /// Records that a statement failed. PostgreSQL accepts no further one in the same transaction.
    pub(super) fn fail(&self) {
        if self.transaction.get() == Transaction::Open {
            self.transaction.set(Transaction::Failed);
        }
    }

    /// Runs statements that take no parameters, in one round trip.
    pub(super) fn run_text(&self, text: &str) -> Result<()> {
        self.again_where_lost(|| self.run_once(text))
    }

    /// Like [`Connection::run_text`], and returns the answers.
    pub(super) fn simple_query(&self, text: &str) -> Result<Vec<SimpleQueryMessage>> {
        self.again_where_lost(|| self.client.borrow_mut().simple_query(text))
    }

    /// Raises the time limit to that of statements that read much of the database, until the returned guard is dropped.
    pub(super) fn patient(&self) -> Patient<'_> {
        Patient { connection: self, before: self.client.borrow_mut().set_limit(LONG) }
    }

    /// Restores the current time limit when the returned guard is dropped.
    pub(super) fn keep_limit(&self) -> Patient<'_> {
        Patient { connection: self, before: self.client.borrow().limit() }
    }

    /// Like [`Connection::patient`], for all later statements of this connection.
    pub(super) fn stay_patient(&self) {
        self.client.borrow_mut().set_limit(LONG);
    }

    /// Marks this connection as one that something depends on, such as a lock. If it is lost, it is not replaced.
    pub(super) fn bind(&self) {
        self.is_bound.set(true);
    }

    /// Sets the time limit for answers.
    pub(super) fn hurry(&self, limit: Duration) {
        self.client.borrow_mut().set_limit(limit);
    }

    /// Runs statements that take no parameters, in one round trip, and never repeats them.
    pub(super) fn run_once(&self, text: &str) -> std::result::Result<(), postgres::Error> {
        self.client.borrow_mut().batch_execute(text)
    }

    fn again_where_lost<T>(&self, mut work: impl FnMut() -> std::result::Result<T, postgres::Error>) -> Result<T> {
        let was_silent = self.client.borrow().is_silent();
        let running = self.watched.borrow().as_ref().map(|watched| watched.running());
        let mut done = work();
        match &done {
            Err(error) if self.may_try_again(error, was_silent) => {
                drop(running);
                self.reconnect()?;
                let _running = self.watched.borrow().as_ref().map(|watched| watched.running());
                done = work();
            }
            Err(_) => self.fail(),
            Ok(_) => {}
        }
        done.map_err(|error| self.meaning(error))
    }

    /// Whether to run a statement once more on another connection. A statement that the server left unanswered is not
    /// repeated, because the server would probably leave it unanswered again. If an earlier statement was left
    /// unanswered (`was_silent`), this one was never sent and may be repeated.
    fn may_try_again(&self, error: &postgres::Error, was_silent: bool) -> bool {
        self.transaction.get() == Transaction::None
            && is_lost(error)
            && !self.is_bound.get()
            && (was_silent || !self.client.borrow().is_silent())
    }

    /// Converts an error of PostgreSQL to an error of mcpkg. If a statement was cancelled although we set no deadline
    /// for it, one of the server's own limits ended it.
    fn meaning(&self, error: postgres::Error) -> Error {
        let is_watched = self.watched.borrow().is_some();
        if self.client.borrow().is_silent() && is_lost(&error) {
            return no_answer().with_source(error);
        }
        if !is_watched && is_cancelled(&error) { busy().with_source(error) } else { failed(error) }
    }

    fn reconnect(&self) -> Result<()> {
        let client = self.connector.connect()?;
        self.statements.take();
        self.is_told.set(false);
        if let Some(watched) = &*self.watched.borrow() {
            watched.set_client(&client);
        }
        *self.client.borrow_mut() = client;
        Ok(())
    }

    /// Makes the server notify this connection of commits. A standby notifies nobody.
    pub(super) fn listen(&self) -> Result<()> {
        match self.run_text(&format!("LISTEN {CHANNEL}")) {
            Err(error) if error.code() == Code::ReadOnly => Ok(()),
            listens => listens.map(|()| self.is_told.set(true)),
        }
    }

    /// Waits until another connection commits: for at most [`TOLD`] if the server notifies of commits, else for `limit`.
    /// Returns whether there may have been a commit.
    pub(in crate::engine) fn wait(&self, limit: Duration) -> Result<bool> {
        // On a lost connection no notification arrives, and the wait would end immediately.
        if !self.is_told.get() || self.is_closed() {
            // This replaces a lost connection, or one to a standby that may have become the primary.
            self.listen()?;
            if !self.is_told.get() {
                block_in_place(|| std::thread::sleep(limit));
            }
            return Ok(true);
        }
        self.client.borrow_mut().wait(TOLD).map_err(failed)
    }

    /// Whether the connection is alive, as far as can be seen without asking the server.
    pub(super) fn stands(&self) -> bool {
        let mut client = self.client.borrow_mut();
        client.wait(Duration::ZERO).is_ok() && !client.is_closed()
    }

    /// Calls `has_passed` regularly while a statement runs, until [`Connection::release`]. Ends the statement once it returns
    /// true.
    pub(in crate::engine) fn watch(&self, has_passed: impl FnMut() -> bool + Send + 'static) -> Result<()> {
        let watched = Watched::new(&self.client.borrow(), self.connector.tls()?, Box::new(has_passed));
        *self.watched.borrow_mut() = Some(watched);
        Ok(())
    }

    pub(in crate::engine) fn release(&self) {
        *self.watched.borrow_mut() = None;
    }
}

/// Restores a connection's time limit for answers when it is dropped.
pub(super) struct Patient<'c> {
    connection: &'c Connection,
    before: Duration,
}

impl Drop for Patient<'_> {
    fn drop(&mut self) {
        self.connection.client.borrow_mut().set_limit(self.before);
    }
}
