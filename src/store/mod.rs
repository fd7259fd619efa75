//! The database: all SQL of the crate, and nothing but SQL.
//!
//! [`Store`] is the open file. [`Store::read`] and [`Store::write`] run a closure inside one transaction and hand it
//! a [`Db`]; the functions of this module's files take that `Db`, so they compose. Rows come back as plain structs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use crate::error::{Code, Error, Result};
use deadline::{Deadline, Watch};

pub mod access;
pub mod backup;
pub mod blobs;
pub mod check;
pub mod consents;
pub mod deploys;
pub mod events;
pub mod items;
pub mod lists;
pub mod modules;
pub mod page;
pub mod projects;
pub mod prompts;
pub mod proposals;
pub mod resources;
pub mod revisions;
pub mod search;
pub mod skills;
pub mod snapshots;
pub mod source;

pub mod validators;
pub mod watch;

mod deadline;
mod engine;
mod index;
mod locks;
mod open;
mod schema;
mod scratch;
mod sqlite;
mod sums;

pub use locks::{Applying, Serving};
pub use open::Access;
pub use schema::SCHEMA_VERSION;
pub use sums::DAMAGED;

/// How long a writer waits for another process before it answers `E_DB_BUSY`.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Page cache of a pooled connection and of a [`Reader`], in KiB.
const POOLED_CACHE: i64 = 2 * 1024;
const READER_CACHE: i64 = 16 * 1024;
const MAX_POOLED_READERS: u32 = 4;

/// How often a call that waits for a connection looks whether one can be opened at all.
const POOL_LOOK: Duration = Duration::from_millis(100);

/// Connections that come and go.
struct Pool {
    connections: r2d2::Pool<SqliteConnectionManager>,
    failed: OpenFailed,
}

/// Set when a connection could not be opened: r2d2 itself tries again until its time is up.
#[derive(Clone, Debug, Default)]
struct OpenFailed(Arc<AtomicBool>);

impl r2d2::HandleError<rusqlite::Error> for OpenFailed {
    fn handle_error(&self, _error: rusqlite::Error) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The open database, and what this handle of it may do; cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Store(Arc<Shared>, Rights);

/// What a handle of the store may do.
#[derive(Clone, Debug)]
struct Rights {
    may_write: bool,
    /// When its reads end, where they have to.
    deadline: Option<Deadline>,
}

struct Shared {
    path: PathBuf,
    access: Access,
    identity: open::Identity,
    replaced: AtomicBool,
    /// Set when reads with a deadline shall end: the server does.
    ended: Arc<AtomicBool>,
    readers: OnceLock<Pool>,
    writer: OnceLock<Pool>,
    /// The connection that the file was checked with, until a [`Reader`] takes it. Closing the only connection would
    /// remove the side files, and the next one would make them anew and read the schema again.
    first: Mutex<Option<Connection>>,
}

/// An open transaction: what is read through it is one moment of the database.
pub struct Db<'c> {
    connection: &'c Connection,
    watch: Option<&'c Watch>,
}

impl Db<'_> {
    /// Refuses to go on once the read's deadline has passed.
    ///
    /// # Errors
    /// `E_TIMEOUT`.
    pub(crate) fn check_deadline(&self) -> Result<()> {
        self.watch.map_or(Ok(()), Watch::check)
    }
}

impl Db<'_> {
    /// How many rows this connection has inserted, updated and deleted so far.
    pub fn changed_rows(&self) -> u64 {
        self.connection.total_changes()
    }
}

impl Store {
    /// Opens the database at `path`; makes it, and the folder it stands in, where `path` does not exist.
    ///
    /// Checks the header, `application_id`, `user_version` and that the schema is the one of its version, and brings an
    /// older schema up to date after keeping a copy beside it. A file that fails a check is left untouched.
    ///
    /// # Errors
    /// `E_DB_CORRUPT`, `E_DB_FOREIGN`, `E_DB_NEWER`, `E_MIGRATION_DIVERGED`, `E_DB_UNAVAILABLE`, `E_DB_BUSY`.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = open::open(path)?;
        let shared = Shared {
            path: opened.path,
            access: opened.access,
            identity: opened.identity,
            replaced: AtomicBool::new(false),
            ended: Arc::default(),
            readers: OnceLock::new(),
            writer: OnceLock::new(),
            first: Mutex::new(Some(opened.connection)),
        };
        Ok(Self(Arc::new(shared), Rights { may_write: true, deadline: None }))
    }

    /// Returns a handle through which nothing can be written, for a caller who may only read.
    #[must_use]
    pub fn reading(&self) -> Self {
        Self(Arc::clone(&self.0), Rights { may_write: false, ..self.1.clone() })
    }

    /// Whether this handle may write. The disk may refuse it still: see [`Store::access`].
    pub fn may_write(&self) -> bool {
        self.1.may_write
    }

    /// Returns a handle for what serves a client: each read ends with `E_TIMEOUT` once it took `limit`, when
    /// `cancelled` is cancelled, and after [`Store::end_reads`].
    #[must_use]
    pub fn limited(&self, limit: Duration, cancelled: CancellationToken) -> Self {
        let deadline = Some(Deadline { limit, cancelled, ended: Arc::clone(&self.0.ended) });
        Self(Arc::clone(&self.0), Rights { deadline, ..self.1.clone() })
    }

    /// Ends all reads that have a deadline, those that come too.
    pub fn end_reads(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }

    /// The file's path, absolute.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether the file can be written, and if not, how it is read.
    pub fn access(&self) -> Access {
        self.0.access
    }

    /// Runs `f` in one read transaction.
    ///
    /// # Errors
    /// What `f` returns, `E_TIMEOUT`, `E_DB_REPLACED`, or how the disk failed.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.check_in_place()?;
        let pool = self.0.readers.get_or_init(|| self.pool(MAX_POOLED_READERS, true));
        let connection = self.connection(pool)?;
        let watch = self.1.deadline.as_ref().map(|deadline| deadline.watch(&connection)).transpose()?;
        let _released = watch.as_ref().map(|_| Released(&connection));
        in_transaction(&connection, watch.as_deref(), "BEGIN DEFERRED", f)
    }

    /// Runs `f`, which executes one statement, on the connection that the file was checked with, while nobody took it:
    /// a look that every start can afford.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn glance<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        let first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            Some(connection) => f(&Db { connection, watch: None }),
            None => {
                drop(first);
                self.read(f)
            }
        }
    }

    /// Runs `f` in one write transaction, begun IMMEDIATE; commits when it returns `Ok`, else changes nothing.
    /// When this returns `Ok`, the write is on the disk.
    ///
    /// # Errors
    /// What `f` returns, `E_MAY_ONLY_READ`, `E_READ_ONLY`, `E_DISK_FULL`, `E_DB_BUSY` after [`BUSY_TIMEOUT`],
    /// `E_DB_REPLACED`, `E_STORAGE`.
    pub fn write<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.check_may_write()?;
        if self.0.access != Access::Writable {
            return Err(self.read_only());
        }
        self.notice_replacement();
        self.check_in_place()?;
        let pool = self.0.writer.get_or_init(|| self.pool(1, false));
        in_transaction(&*self.connection(pool)?, None, "BEGIN IMMEDIATE", f)
    }

    /// Returns a connection of its own for a thread that reads all the time, with a cache of 16 MiB.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` and how the disk failed.
    pub fn reader(&self) -> Result<Reader> {
        let first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let connection = match first {
            Some(mut first) => {
                sqlite::set_up(&mut first, READER_CACHE, true)?;
                first
            }
            None => sqlite::connect(&self.0.path, self.0.access, READER_CACHE, true)?,
        };
        self.reader_on(connection)
    }

    /// Returns a connection of its own for one of many clients, with a cache of 2 MiB.
    ///
    /// # Errors
    /// As [`Store::reader`].
    pub fn slim_reader(&self) -> Result<Reader> {
        let connection = sqlite::connect(&self.0.path, self.0.access, POOLED_CACHE, true)?;
        self.reader_on(connection)
    }

    fn reader_on(&self, connection: Connection) -> Result<Reader> {
        let watch = self.1.deadline.as_ref().map(|deadline| deadline.watch(&connection)).transpose()?;
        Ok(Reader { store: self.clone(), connection, watch })
    }

    /// Moves what stands in the WAL into the file, as far as nobody is in the way: a server that ended leaves one whole
    /// file. Nothing is lost where this fails.
    pub fn settle(&self) {
        self.notice_replacement();
        if self.0.access != Access::Writable || self.check_in_place().is_err() {
            return;
        }
        if let Err(error) = sqlite::checkpoint(&self.0.path) {
            tracing::info!(%error, "the WAL stays as it is");
        }
    }

    /// Compares the file at the path with the one that was opened; from then on calls are refused where they differ.
    pub(crate) fn notice_replacement(&self) {
        let replaced = open::Identity::of(&self.0.path, self.0.access).as_ref() != Some(&self.0.identity);
        self.0.replaced.store(replaced, Ordering::Relaxed);
    }

    fn check_may_write(&self) -> Result<()> {
        if self.may_write() {
            return Ok(());
        }
        Err(Error::new(Code::MayOnlyRead, "This access key may only read")
            .hint("`mcpkg access create NAME` makes a key that may write"))
    }

    fn check_in_place(&self) -> Result<()> {
        if !self.0.replaced.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::new(
            Code::Replaced,
            format!("The database `{}` was removed or replaced while it was in use", self.0.path.display()),
        )
        .hint("put the file back, or restart this server; use `mcpkg restore FILE` to change a database in use"))
    }

    fn pool(&self, size: u32, query_only: bool) -> Pool {
        let failed = OpenFailed::default();
        let connections = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(0))
            .test_on_check_out(false)
            .error_handler(Box::new(failed.clone()))
            .thread_pool(Arc::new(scheduled_thread_pool::ScheduledThreadPool::new(1)))
            .build_unchecked(sqlite::manager(&self.0.path, self.0.access, POOLED_CACHE, query_only));
        Pool { connections, failed }
    }

    /// Takes a connection out of a pool; waits while all are in use, but not where none can be opened.
    fn connection(&self, pool: &Pool) -> Result<r2d2::PooledConnection<SqliteConnectionManager>> {
        let deadline = Instant::now() + BUSY_TIMEOUT * 2;
        pool.failed.0.store(false, Ordering::Relaxed);
        loop {
            let error = match pool.connections.get_timeout(POOL_LOOK) {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            if pool.failed.0.load(Ordering::Relaxed) || Instant::now() >= deadline {
                // The pool hides why: where a connection can be opened all were in use, else the reason is the disk's.
                return Err(match sqlite::connect(&self.0.path, self.0.access, POOLED_CACHE, true) {
                    Ok(_) => sqlite::busy().with_source(error),
                    Err(cause) => cause,
                });
            }
        }
    }

    fn read_only(&self) -> Error {
        if self.0.access == Access::Full {
            return sqlite::full();
        }
        Error::new(Code::ReadOnly, format!("The database `{}` cannot be written", self.0.path.display()))
            .hint("make the file and its folder writable, or name another database with --db")
    }
}

/// A connection that one thread keeps for its reads.
pub struct Reader {
    store: Store,
    connection: Connection,
    watch: Option<Arc<Watch>>,
}

impl Reader {
    /// Returns a number that differs from the last one where anything was committed between, by any process.
    ///
    /// # Errors
    /// `E_DB_REPLACED`, or how the disk failed.
    pub fn version(&self) -> Result<i64> {
        self.store.check_in_place()?;
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }

    /// Ends the reads from now on with `E_TIMEOUT` when `cancelled` is set, in place of what was given to
    /// [`Store::limited`]. Without a deadline nothing ends them.
    pub fn cancel_with(&self, cancelled: CancellationToken) {
        if let Some(watch) = &self.watch {
            watch.cancel_with(cancelled);
        }
    }

    /// Runs `f`, which executes one statement: that is its own transaction, without the cost of beginning one.
    ///
    /// # Errors
    /// What `f` returns, `E_DB_REPLACED`, or how the disk failed.
    pub fn statement<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.begin()?;
        f(&Db { connection: &self.connection, watch: self.watch.as_deref() })
    }

    /// Runs `f` in one read transaction.
    ///
    /// # Errors
    /// What `f` returns, `E_DB_REPLACED`, or how the disk failed.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.begin()?;
        in_transaction(&self.connection, self.watch.as_deref(), "BEGIN DEFERRED", f)
    }

    fn begin(&self) -> Result<()> {
        if let Some(watch) = &self.watch {
            watch.begin();
        }
        self.store.check_in_place()
    }
}

fn in_transaction<T>(
    connection: &Connection,
    watch: Option<&Watch>,
    begin: &str,
    f: impl FnOnce(&Db<'_>) -> Result<T>,
) -> Result<T> {
    connection.prepare_cached(begin)?.execute([])?;
    let open = Open(connection);
    let value = f(&Db { connection, watch })?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    drop(open);
    Ok(value)
}

/// Takes the deadline off a pooled connection on drop.
struct Released<'c>(&'c Connection);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        Watch::release(self.0);
    }
}

/// Rolls back on drop whatever was not committed, a panic's transaction too.
struct Open<'c>(&'c Connection);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}
