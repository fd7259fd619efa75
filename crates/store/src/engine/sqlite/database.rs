//! An open database file: its connections, and whether the path still leads to the same file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::access::Access;
use super::connect::{self, Manager, Pooled};
use super::connect::{POOLED_CACHE, READER_CACHE};
use super::errors::failed;
use super::files::{file_size, wal_size};
use super::identity::{Identity, WalIdentity};
use super::open;
use crate::engine::pool::Pool;
use crate::engine::{BUSY_TIMEOUT, full};
use mcpkg_base::error::{Code, Error, Result};

const MAX_POOLED_READERS: u32 = 4;

/// How long an unused connection to the file is kept.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// How often to check whether a file that could not be written has become writable.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Database {
    pub(super) path: PathBuf,
    state: Mutex<State>,
    /// How often the file was reopened (see [`Database::look_again`]). Connections from before the last reopening are
    /// replaced.
    epoch: AtomicU64,
    replaced: AtomicBool,
    /// The connection that checked the file, until a pool or a reader takes it. It is kept open because closing the
    /// only connection removes the side files. The next connection would have to create them and read the schema
    /// again.
    first: Mutex<Option<Connection>>,
}

/// How the file is currently open.
struct State {
    access: Access,
    identity: Identity,
    readers: Option<Arc<Pool<Manager>>>,
    writer: Option<Arc<Pool<Manager>>>,
    /// When we last checked whether the file has to be reopened.
    looked: Instant,
    /// How many connections from [`Database::anchor`] are open. While there are any, the WAL stays the same file.
    anchors: usize,
    /// The WAL that the anchors have open.
    wal: Option<WalIdentity>,
}

impl Database {
    /// Implements [`crate::Store::open`].
    pub(crate) fn open(path: &Path) -> Result<Self> {
        open::open(path).map(Self::of)
    }

    /// Implements [`crate::Store::open_as_it_is`].
    pub(crate) fn open_as_it_is(path: &Path) -> Result<Self> {
        open::open_as_it_is(path).map(Self::of)
    }

    fn of(opened: open::Opened) -> Self {
        Self {
            path: opened.path,
            state: Mutex::new(State {
                access: opened.access,
                identity: opened.identity,
                readers: None,
                writer: None,
                looked: Instant::now(),
                anchors: 0,
                wal: None,
            }),
            epoch: AtomicU64::new(0),
            replaced: AtomicBool::new(false),
            first: Mutex::new(Some(opened.connection)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the absolute path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes in the file and its WAL.
    pub(crate) fn size(&self) -> u64 {
        file_size(&self.path) + wal_size(&self.path)
    }

    pub(crate) fn access(&self) -> Access {
        self.state().access
    }

    /// Returns how often the file was reopened.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Takes a reading connection from the pool.
    pub(crate) fn pooled_reader(&self) -> Result<Pooled> {
        self.check_in_place()?;
        let readers = {
            let mut state = self.state();
            let access = state.access;
            Arc::clone(state.readers.get_or_insert_with(|| self.pool(access, MAX_POOLED_READERS, true)))
        };
        readers.get(BUSY_TIMEOUT * 2)
    }

    /// Takes the writing connection from its pool, which has only one.
    pub(crate) fn pooled_writer(&self) -> Result<Pooled> {
        self.notice_replacement();
        if self.access() != Access::Writable {
            return Err(self.read_only());
        }
        self.check_in_place()?;
        self.writer().get(BUSY_TIMEOUT * 2)
    }

    /// Starts to open the writing connection.
    pub(crate) fn expect_write(&self) {
        if self.access() == Access::Writable {
            self.writer();
        }
    }

    fn writer(&self) -> Arc<Pool<Manager>> {
        let mut state = self.state();
        let access = state.access;
        Arc::clone(state.writer.get_or_insert_with(|| self.pool(access, 1, false)))
    }

    /// Returns a pool. It starts with the connection that checked the file, if that connection is still free.
    fn pool(&self, access: Access, size: u32, query_only: bool) -> Arc<Pool<Manager>> {
        let manager = Manager::new(&self.path, access, self.take_first(), query_only);
        Arc::new(Pool::new(manager, size, u32::from(!query_only), IDLE))
    }

    /// Calls `f` with the connection that checked the file, and returns the result. Returns `None` if that connection
    /// was taken.
    pub(crate) fn with_first<T>(&self, f: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(f)
    }

    fn take_first(&self) -> Option<Connection> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Opens a connection outside the pools, for a thread that reads all the time.
    pub(crate) fn reader(&self) -> Result<Connection> {
        match self.take_first() {
            Some(mut first) => {
                connect::set_up(&mut first, READER_CACHE, true).map_err(failed)?;
                Ok(first)
            }
            None => connect::connect(&self.path, self.access(), READER_CACHE, true),
        }
    }

    /// Opens a connection outside the pools with a small cache, for one of many readers.
    pub(crate) fn slim_reader(&self) -> Result<Connection> {
        connect::connect(&self.path, self.access(), POOLED_CACHE, true)
    }

    /// Opens a connection outside the pools that may create temporary tables, as checking the search index requires.
    pub(crate) fn inspector(&self) -> Result<Connection> {
        self.check_in_place()?;
        connect::connect(&self.path, self.access(), READER_CACHE, false)
    }

    /// Implements [`crate::Store::checkpoint`].
    pub(crate) fn checkpoint(&self) {
        self.notice_replacement();
        if self.access() != Access::Writable || self.check_in_place().is_err() {
            return;
        }
        if let Err(error) = connect::checkpoint(&self.path) {
            tracing::info!(%error, "left the WAL unchanged");
        }
    }

    /// Compares the file at the path, and its WAL, with the ones that were opened. If they differ,
    /// [`Database::check_in_place`] fails until they are the same again.
    pub(crate) fn notice_replacement(&self) {
        self.look_again();
        let mut state = self.state();
        let is_same = Identity::of(&self.path, state.access).as_ref() == Some(&state.identity);
        self.replaced.store(!is_same || state.has_lost_wal(&self.path), Ordering::Relaxed);
    }

    /// Reopens a read-only file if it has become writable. Reopens a file that was treated as unchanging if it has
    /// changed.
    fn look_again(&self) {
        let (access, identity) = {
            let mut state = self.state();
            if state.access == Access::Writable || state.looked.elapsed() < AGAIN {
                return;
            }
            state.looked = Instant::now();
            (state.access, state.identity.clone())
        };
        let is_changed = match Identity::of(&self.path, access) {
            Some(now) if now.is_of_file(&identity) => now != identity,
            // The file was removed or replaced.
            _ => return,
        };
        if !is_changed && !open::writable(&self.path) {
            return;
        }
        let opened = match open::again(&self.path) {
            Ok(opened) if is_changed || opened.access != access => opened,
            Ok(_) => return,
            Err(error) => return tracing::debug!(%error, "cannot open the database with another kind of access"),
        };
        if !opened.identity.is_of_file(&identity) {
            return;
        }
        tracing::info!(access = ?opened.access, "the database is opened again");
        let mut state = self.state();
        (state.access, state.identity, state.wal) = (opened.access, opened.identity, None);
        let before = (state.readers.take(), state.writer.take());
        *self.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.connection);
        self.epoch.fetch_add(1, Ordering::Release);
        drop(state);
        drop(before);
    }

    /// Opens a connection that the caller keeps open. While it is open, the WAL is expected to stay the same file.
    pub(crate) fn anchor(&self) -> Result<Connection> {
        let connection = self.slim_reader()?;
        // The first read opens the WAL.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
        let mut state = self.state();
        if state.anchors == 0 {
            state.wal = WalIdentity::of(&self.path);
        }
        state.anchors += 1;
        Ok(connection)
    }

    /// Notes that a connection from [`Database::anchor`] is about to be closed.
    pub(crate) fn weigh_anchor(&self) {
        let mut state = self.state();
        state.anchors = state.anchors.saturating_sub(1);
        if state.anchors == 0 {
            state.wal = None;
        }
    }

    /// Fails if [`Database::notice_replacement`] has found that the file was replaced.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        if !self.replaced.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::new(
            Code::Replaced,
            format!("The database `{}` was removed or replaced while it was in use", self.path.display()),
        )
        .hint("put the file back, or restart this server; use `mcpkg restore FILE` to change a database in use"))
    }

    fn read_only(&self) -> Error {
        if self.access() == Access::Full {
            return full();
        }
        Error::new(Code::ReadOnly, format!("Cannot write to the database `{}`", self.path.display()))
            .hint("make the file and its folder writable, or name another database with --db")
    }
}

impl State {
    /// Whether the file next to the database is no longer the WAL that is open. Commits to the open WAL would then be
    /// lost.
    fn has_lost_wal(&mut self, path: &Path) -> bool {
        if self.anchors == 0 || self.access != Access::Writable {
            return false;
        }
        let now = WalIdentity::of(path);
        match &self.wal {
            Some(_) => self.wal != now,
            None => {
                self.wal = now;
                false
            }
        }
    }
}
