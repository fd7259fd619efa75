//! A connection that one thread keeps for its reads.

use std::cell::{Cell, Ref, RefCell};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Db;
use super::deadline::Watch;
use super::engine::{Connection, Engine, Intent, Version};
use mcpkg_base::error::Result;

pub struct Reader {
    engine: Arc<Engine>,
    connection: RefCell<Connection>,
    /// The epoch of the database in which the connection was opened.
    epoch: Cell<u64>,
    watch: Option<Arc<Watch>>,
}

impl Reader {
    /// Returns a reader on `connection`. `watch` is the [`Watch`] of that connection.
    pub(super) fn new(engine: Arc<Engine>, connection: Connection, watch: Option<Arc<Watch>>) -> Self {
        let epoch = Cell::new(engine.epoch());
        Self { engine, connection: RefCell::new(connection), epoch, watch }
    }

    /// Returns the connection. Opens it again if the database was reopened since.
    fn connection(&self) -> Result<Ref<'_, Connection>> {
        let epoch = self.engine.epoch();
        if epoch != self.epoch.get()
            && let Ok(mut connection) = self.connection.try_borrow_mut()
        {
            *connection = self.engine.reader()?;
            if let Some(watch) = &self.watch {
                watch.attach(connection.link())?;
            }
            self.epoch.set(epoch);
        }
        Ok(self.connection.borrow())
    }

    /// Returns a version that differs from the previous one if any process has committed in between.
    pub fn version(&self) -> Result<Version> {
        self.engine.check_in_place()?;
        Ok(self.connection()?.link().version()?.in_epoch(self.epoch.get()))
    }

    /// Runs `f`, and returns its result with the version of the database that the first read in `f` saw. The version is `None`
    /// if that read found nothing, or if [`Reader::tells`] returns false.
    pub fn telling<T>(&self, f: impl FnOnce() -> T) -> (T, Option<Version>) {
        self.connection.borrow().link().telling(f)
    }

    /// Whether reads report the version that they saw, because asking for it separately would cost as much as a read.
    pub fn tells(&self) -> bool {
        self.connection.borrow().link().tells()
    }

    /// Ends later reads with `E_TIMEOUT` when `cancelled` is cancelled. This token replaces the one given to
    /// [`Store::limited`](super::Store::limited). Has no effect on a reader without a deadline.
    pub fn cancel_with(&self, cancelled: CancellationToken) {
        if let Some(watch) = &self.watch {
            watch.cancel_with(cancelled);
        }
    }

    /// Runs `f`, which must execute only one statement. The statement is its own transaction, which saves the cost of
    /// beginning one.
    ///
    /// # Errors
    /// Errors of `f`.
    pub fn statement<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.begin()?;
        f(&Db::new(self.connection()?.link(), self.watch.as_deref()))
    }

    /// Runs `f` in one read transaction.
    ///
    /// # Errors
    /// Errors of `f`.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.begin()?;
        Db::in_transaction(self.connection()?.link(), self.watch.as_deref(), Intent::Read, f)
    }

    fn begin(&self) -> Result<()> {
        if let Some(watch) = &self.watch {
            watch.begin();
        }
        self.engine.check_in_place()
    }
}
