//! The open file: its connections, and whether it still is the one that was opened.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::Connection;

use super::access::Access;
use super::connect::{self, Manager, Pooled};
use super::files::{file_size, wal_size};
use super::identity::Identity;
use super::limits::{POOLED_CACHE, READER_CACHE};
use super::open;
use crate::error::{Code, Error, Result};
use crate::store::engine::pool::Pool;
use crate::store::engine::{BUSY_TIMEOUT, full};

const MAX_POOLED_READERS: u32 = 4;

/// An open file.
pub(in crate::store) struct Database {
    pub(super) path: PathBuf,
    pub(super) access: Access,
    identity: Identity,
    replaced: AtomicBool,
    readers: OnceLock<Pool<Manager>>,
    writer: OnceLock<Pool<Manager>>,
    /// The connection that the file was checked with, until a pool or a reader takes it. Closing the only connection
    /// would remove the side files, and the next one would make them anew and read the schema again.
    first: Mutex<Option<Connection>>,
}

impl Database {
    /// As [`crate::store::Store::open`].
    pub(in crate::store) fn open(path: &Path) -> Result<Self> {
        open::open(path).map(Self::of)
    }

    /// As [`crate::store::Store::open_as_it_is`].
    pub(in crate::store) fn open_as_it_is(path: &Path) -> Result<Self> {
        open::open_as_it_is(path).map(Self::of)
    }

    fn of(opened: open::Opened) -> Self {
        Self {
            path: opened.path,
            access: opened.access,
            identity: opened.identity,
            replaced: AtomicBool::new(false),
            readers: OnceLock::new(),
            writer: OnceLock::new(),
            first: Mutex::new(Some(opened.connection)),
        }
    }

    /// The file's path, absolute.
    pub(in crate::store) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file and of its WAL.
    pub(in crate::store) fn size(&self) -> u64 {
        file_size(&self.path) + wal_size(&self.path)
    }

    /// How the file is opened.
    pub(in crate::store) fn access(&self) -> Access {
        self.access
    }

    /// Takes a connection that reads out of the pool.
    pub(in crate::store) fn pooled_reader(&self) -> Result<Pooled> {
        self.check_in_place()?;
        self.readers.get_or_init(|| self.pool(MAX_POOLED_READERS, true)).get(BUSY_TIMEOUT * 2)
    }

    /// Takes the connection that writes out of its pool of one.
    pub(in crate::store) fn pooled_writer(&self) -> Result<Pooled> {
        if self.access != Access::Writable {
            return Err(self.read_only());
        }
        self.notice_replacement();
        self.check_in_place()?;
        self.writer().get(BUSY_TIMEOUT * 2)
    }

    /// Begins to open the connection that writes.
    pub(in crate::store) fn expect_write(&self) {
        if self.access == Access::Writable {
            self.writer();
        }
    }

    fn writer(&self) -> &Pool<Manager> {
        self.writer.get_or_init(|| self.pool(1, false))
    }

    /// Returns a pool, which begins with the connection that the file was checked with.
    fn pool(&self, size: u32, query_only: bool) -> Pool<Manager> {
        let manager = Manager::new(&self.path, self.access, self.take_first(), query_only);
        Pool::new(manager, size, u32::from(!query_only))
    }

    /// Returns what `f` returns with the connection that the file was checked with; `None` where it was taken.
    pub(in crate::store) fn with_first<T>(&self, f: impl FnOnce(&Connection) -> T) -> Option<T> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(f)
    }

    fn take_first(&self) -> Option<Connection> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns a connection of its own for a thread that reads all the time.
    pub(in crate::store) fn reader(&self) -> Result<Connection> {
        match self.take_first() {
            Some(mut first) => {
                connect::set_up(&mut first, READER_CACHE, true)?;
                Ok(first)
            }
            None => connect::connect(&self.path, self.access, READER_CACHE, true),
        }
    }

    /// Returns a connection of its own for one of many that read.
    pub(in crate::store) fn slim_reader(&self) -> Result<Connection> {
        connect::connect(&self.path, self.access, POOLED_CACHE, true)
    }

    /// Returns a connection of its own that may make temporary tables, as looking at the search index needs.
    pub(in crate::store) fn inspector(&self) -> Result<Connection> {
        self.check_in_place()?;
        connect::connect(&self.path, self.access, READER_CACHE, false)
    }

    /// As [`crate::store::Store::checkpoint`].
    pub(in crate::store) fn checkpoint(&self) {
        self.notice_replacement();
        if self.access != Access::Writable || self.check_in_place().is_err() {
            return;
        }
        if let Err(error) = connect::checkpoint(&self.path) {
            tracing::info!(%error, "the WAL stays as it is");
        }
    }

    /// Compares the file at the path with the one that was opened; from then on calls are refused where they differ.
    pub(in crate::store) fn notice_replacement(&self) {
        let replaced = Identity::of(&self.path, self.access).as_ref() != Some(&self.identity);
        self.replaced.store(replaced, Ordering::Relaxed);
    }

    /// Refuses to go on where the file was found replaced.
    ///
    /// # Errors
    /// `E_DB_REPLACED`.
    pub(in crate::store) fn check_in_place(&self) -> Result<()> {
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
        if self.access == Access::Full {
            return full();
        }
        Error::new(Code::ReadOnly, format!("The database `{}` cannot be written", self.path.display()))
            .hint("make the file and its folder writable, or name another database with --db")
    }
}
