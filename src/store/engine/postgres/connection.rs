//! A connection: its statements, its transaction, and how it comes back where it was lost.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use postgres::{Row, SimpleQueryMessage};
use tokio::task::block_in_place;

use super::address::CHANNEL;
use super::client::{Client, LONG};
use super::connect::Connector;
use super::deadline::Watched;
use super::errors::{is_cancelled, is_lost, no_answer};
use super::snapshot::{self, VersionRead};
use super::statement::{Form, Statement, Statements};
use crate::error::{Code, Error, Result};
use crate::store::engine::{Sql, Value, busy};

/// How long one that is told of commits waits before it looks up.
const TOLD: Duration = Duration::from_millis(500);

/// A connection to a server.
pub(in crate::store) struct Connection {
    pub(super) connector: Connector,
    client: RefCell<Client>,
    statements: RefCell<Statements>,
    /// How many cursors there were.
    cursors: Cell<u64>,
    changed: Cell<u64>,
    pub(super) transaction: Cell<Transaction>,
    /// Whether the server tells it what others commit.
    is_told: Cell<bool>,
    watched: RefCell<Option<Arc<Watched>>>,
    /// Whether the next read is to tell which version of the database it saw.
    version_read: Cell<VersionRead>,
    /// Whether it stands for what ends with it, so that no other one is made in its place.
    is_bound: Cell<bool>,
}

/// How far a connection's transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    /// There is none: each statement is its own.
    None,
    Open,
    /// A statement of it failed, and PostgreSQL takes no other one.
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

    /// Whether the connection is known to be lost.
    pub(super) fn is_closed(&self) -> bool {
        self.client.borrow().is_closed()
    }

    /// Returns how many rows were inserted, updated and deleted so far.
    pub(in crate::store::engine) fn changed_rows(&self) -> u64 {
        self.changed.get()
    }

    pub(super) fn add_changed(&self, rows: u64) {
        self.changed.set(self.changed.get() + rows);
    }

    /// Runs a statement. Where it is no part of a transaction and the connection turns out to be lost, it is run once more on a new
    /// one: outside of transactions there are reads alone.
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

    /// Returns the rows of a query, which is run as [`Connection::run`] says. Where it is to tell which version of the database it
    /// saw, each row has one column more.
    pub(super) fn query(&self, sql: Sql, params: &[Value<'_>]) -> Result<Vec<Row>> {
        self.query_as(sql, params, false)
    }

    /// As [`Connection::query`], with no more rows than [`super::sql::cut`] lets through.
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

    /// Begins what `begin` says, a transaction that reads; where the next read is to tell which version of the database it saw,
    /// this does.
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

    /// Runs `f` and returns what it returns, with the version of the database that the first of its reads saw; `None` where it
    /// has none, or none that found anything.
    pub(in crate::store::engine) fn telling<T>(&self, f: impl FnOnce() -> T) -> (T, Option<i64>) {
        self.version_read.set(VersionRead::Asked);
        let value = f();
        match self.version_read.replace(VersionRead::NotAsked) {
            VersionRead::Version(version) => (value, Some(version)),
            VersionRead::NotAsked | VersionRead::Asked => (value, None),
        }
    }

    /// Whether the next read is to tell which version of the database it saw.
    pub(super) fn is_asked(&self) -> bool {
        self.version_read.get() == VersionRead::Asked
    }

    /// Has the next read tell which version it saw, in place of the one before.
    pub(super) fn ask_again(&self) {
        self.version_read.set(VersionRead::Asked);
    }

    /// Returns a number that no cursor had before.
    pub(super) fn next_cursor(&self) -> u64 {
        self.cursors.update(|number| number + 1);
        self.cursors.get()
    }

    /// Returns what `f` returns with the client, for what is more than a statement of the tables.
    pub(super) fn with<T, E>(&self, f: impl FnOnce(&mut Client) -> std::result::Result<T, E>) -> Result<T>
    where
        Error: From<E>,
    {
        f(&mut self.client.borrow_mut()).inspect_err(|_| self.fail()).map_err(Error::from)
    }

    /// As [`Connection::with`], for what may take as long as a deadline says.
    pub(super) fn timed<T>(
        &self,
        mut f: impl FnMut(&mut Client) -> std::result::Result<T, postgres::Error>,
    ) -> Result<T> {
        self.again_where_lost(|| f(&mut self.client.borrow_mut()))
    }

    /// A statement failed: where it was part of a transaction, PostgreSQL takes no other one.
    pub(super) fn fail(&self) {
        if self.transaction.get() == Transaction::Open {
            self.transaction.set(Transaction::Failed);
        }
    }

    /// Runs statements that take no parameters, in one round trip.
    pub(super) fn run_text(&self, text: &str) -> Result<()> {
        self.again_where_lost(|| self.run_once(text))
    }

    /// As [`Connection::run_text`]; returns what they answer.
    pub(super) fn simple_query(&self, text: &str) -> Result<Vec<SimpleQueryMessage>> {
        self.again_where_lost(|| self.client.borrow_mut().simple_query(text))
    }

    /// Lets a statement take as long as one may that looks through much of the database, until what is returned is dropped.
    pub(super) fn patient(&self) -> Patient<'_> {
        Patient { connection: self, before: self.client.borrow_mut().set_limit(LONG) }
    }

    /// Waits for answers as long as now again once what is returned is dropped.
    pub(super) fn keep_limit(&self) -> Patient<'_> {
        Patient { connection: self, before: self.client.borrow().limit() }
    }

    /// As [`Connection::patient`], for all that comes on this connection.
    pub(super) fn stay_patient(&self) {
        self.client.borrow_mut().set_limit(LONG);
    }

    /// Says that a lock or the like ends with this connection: where it is lost, it stays so.
    pub(super) fn bind(&self) {
        self.is_bound.set(true);
    }

    /// Waits for no answer for longer than this from now on.
    pub(super) fn hurry(&self, limit: Duration) {
        self.client.borrow_mut().set_limit(limit);
    }

    /// Runs statements that take no parameters, in one round trip and once only.
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

    /// Whether a statement is run once more on another connection: not where the server did not answer it, which it would not do again.
    /// Where it did not answer an earlier one (`was_silent`), this one was not sent.
    fn may_try_again(&self, error: &postgres::Error, was_silent: bool) -> bool {
        self.transaction.get() == Transaction::None
            && is_lost(error)
            && !self.is_bound.get()
            && (was_silent || !self.client.borrow().is_silent())
    }

    /// Returns what an error means here: a statement that nobody of ours watches was ended by what the server allows it.
    fn meaning(&self, error: postgres::Error) -> Error {
        let is_watched = self.watched.borrow().is_some();
        if self.client.borrow().is_silent() && is_lost(&error) {
            return no_answer().with_source(error);
        }
        if !is_watched && is_cancelled(&error) { busy().with_source(error) } else { error.into() }
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

    /// Has the server tell what others commit from now on. A standby tells nobody.
    pub(super) fn listen(&self) -> Result<()> {
        match self.run_text(&format!("LISTEN {CHANNEL}")) {
            Err(error) if error.code() == Code::ReadOnly => Ok(()),
            listens => listens.map(|()| self.is_told.set(true)),
        }
    }

    /// Waits until another connection committed: for at most `limit`, or for [`TOLD`] where the server tells of commits. Returns
    /// whether one may have.
    pub(in crate::store::engine) fn wait(&self, limit: Duration) -> Result<bool> {
        // One that is lost tells nothing, and whoever waits on it would not wait at all.
        if !self.is_told.get() || self.is_closed() {
            // A new connection in place of one that was lost, or one to a standby, which may be the primary by now.
            self.listen()?;
            if !self.is_told.get() {
                block_in_place(|| std::thread::sleep(limit));
            }
            return Ok(true);
        }
        Ok(self.client.borrow_mut().wait(TOLD)?)
    }

    /// Whether the connection stands, as far as can be seen without a word to the server.
    pub(super) fn stands(&self) -> bool {
        let mut client = self.client.borrow_mut();
        client.wait(Duration::ZERO).is_ok() && !client.is_closed()
    }

    /// Asks `has_passed` every so often while a statement runs, and ends it where it says so; until [`Connection::release`].
    pub(in crate::store::engine) fn watch(&self, has_passed: impl FnMut() -> bool + Send + 'static) -> Result<()> {
        let watched = Watched::new(&self.client.borrow(), self.connector.tls()?, Box::new(has_passed));
        *self.watched.borrow_mut() = Some(watched);
        Ok(())
    }

    /// Takes a deadline off.
    pub(in crate::store::engine) fn release(&self) {
        *self.watched.borrow_mut() = None;
    }
}

/// Restores how long a connection waits for an answer.
pub(super) struct Patient<'c> {
    connection: &'c Connection,
    before: Duration,
}

impl Drop for Patient<'_> {
    fn drop(&mut self) {
        self.connection.client.borrow_mut().set_limit(self.before);
    }
}
