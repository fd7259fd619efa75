//! The database: all SQL of the crate, and nothing but SQL.
//!
//! [`Store`] is the open file. [`Store::read`] and [`Store::write`] run a closure inside one transaction and hand it
//! a [`Db`]; the functions of this module's files take that `Db`, so they compose. Rows come back as plain structs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::{Code, Error, Result};
use deadline::{Deadline, Watch};
use engine::{Connection, Engine, Intent, Link, Pooled};

pub mod access;
pub mod backup;
pub mod blobs;
pub mod check;
pub mod consents;
pub mod deploys;
pub mod events;
pub mod items;
pub mod limits;
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
pub mod tasks;
pub mod validators;
pub mod watch;

mod deadline;
mod engine;
mod location;
mod locks;
mod sums;

pub use engine::Version;
pub use engine::sqlite::open::Access;
pub use engine::sqlite::schema::SCHEMA_VERSION;
pub use location::Location;
pub use locks::{Applying, Serving, TaskRunner};
pub use sums::DAMAGED;

/// How long a writer waits for another process before it answers `E_DB_BUSY`.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

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
    engine: Engine,
    /// Set when reads with a deadline shall end: the server does.
    ended: Arc<AtomicBool>,
}

/// An open transaction: what is read through it is one moment of the database.
pub struct Db<'c> {
    connection: Link<'c>,
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

    /// Returns how many rows this connection has inserted, updated and deleted so far.
    pub fn changed_rows(&self) -> u64 {
        self.connection.changed_rows()
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
        let shared = Shared { engine: Engine::open(path)?, ended: Arc::default() };
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

    /// Where the database is, for messages.
    pub fn location(&self) -> Location<'_> {
        self.0.engine.location()
    }

    /// Returns how many bytes the database has on the disk, with what was committed and does not stand in its file yet.
    pub fn size(&self) -> u64 {
        self.0.engine.size()
    }

    /// Whether the database can be written, and if not, how it is read.
    pub fn access(&self) -> Access {
        self.0.engine.access()
    }

    /// Runs `f` in one read transaction.
    ///
    /// # Errors
    /// What `f` returns, `E_TIMEOUT`, `E_DB_REPLACED`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        let connection = self.0.engine.pooled_reader()?;
        let watch = self.1.deadline.as_ref().map(|deadline| deadline.watch(connection.link())).transpose()?;
        let _released = watch.as_ref().map(|_| Released(&connection));
        connection.link().in_transaction(watch.as_deref(), Intent::Read, f)
    }

    /// Runs `f`, which executes one statement, on the connection that the database was opened with, while no [`Reader`]
    /// has it: without a pool, since every start does this.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_once<T>(&self, f: impl Fn(&Db<'_>) -> Result<T>) -> Result<T> {
        let first = self.0.engine.with_first(|connection| f(&Db { connection, watch: None }));
        first.unwrap_or_else(|| self.read(f))
    }

    /// Runs `f` in one write transaction, begun IMMEDIATE; commits when it returns `Ok`, else changes nothing.
    /// When this returns `Ok`, the write is on the disk.
    ///
    /// # Errors
    /// What `f` returns, `E_MAY_ONLY_READ`, `E_READ_ONLY`, `E_DISK_FULL`, `E_DB_BUSY` after [`BUSY_TIMEOUT`],
    /// `E_DB_REPLACED`, `E_STORAGE`.
    pub fn write<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.check_may_write()?;
        self.0.engine.pooled_writer()?.link().in_transaction(None, Intent::Write, f)
    }

    /// Returns a connection of its own for a thread that reads all the time, with a cache of 16 MiB.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE`, `E_DB_BUSY`, `E_STORAGE`.
    pub fn reader(&self) -> Result<Reader> {
        self.reader_on(self.0.engine.reader()?)
    }

    /// Returns a connection of its own for one of many clients, with a cache of 2 MiB.
    ///
    /// # Errors
    /// As [`Store::reader`].
    pub fn slim_reader(&self) -> Result<Reader> {
        self.reader_on(self.0.engine.slim_reader()?)
    }

    fn reader_on(&self, connection: Connection) -> Result<Reader> {
        let watch = self.1.deadline.as_ref().map(|deadline| deadline.watch(connection.link())).transpose()?;
        Ok(Reader { store: self.clone(), connection, watch })
    }

    /// Moves what stands in the WAL into the file, as far as nobody is in the way: a server that ended leaves one whole
    /// file. Nothing is lost where this fails.
    pub fn checkpoint(&self) {
        self.0.engine.checkpoint();
    }

    fn check_may_write(&self) -> Result<()> {
        if self.may_write() {
            return Ok(());
        }
        Err(Error::new(Code::MayOnlyRead, "This access key may only read")
            .hint("`mcpkg access create NAME` makes a key that may write"))
    }
}

/// A connection that one thread keeps for its reads.
pub struct Reader {
    store: Store,
    connection: Connection,
    watch: Option<Arc<Watch>>,
}

impl Reader {
    /// Returns what differs from the last one where anything was committed between, by any process.
    ///
    /// # Errors
    /// `E_DB_REPLACED`, `E_DB_BUSY`, `E_STORAGE`.
    pub fn version(&self) -> Result<Version> {
        self.store.0.engine.check_in_place()?;
        self.connection.link().version()
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
    /// What `f` returns, `E_DB_REPLACED`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
    pub fn statement<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.begin()?;
        f(&Db { connection: self.connection.link(), watch: self.watch.as_deref() })
    }

    /// Runs `f` in one read transaction.
    ///
    /// # Errors
    /// What `f` returns, `E_DB_REPLACED`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.begin()?;
        self.connection.link().in_transaction(self.watch.as_deref(), Intent::Read, f)
    }

    fn begin(&self) -> Result<()> {
        if let Some(watch) = &self.watch {
            watch.begin();
        }
        self.store.0.engine.check_in_place()
    }
}

/// Takes the deadline off a pooled connection on drop.
struct Released<'c>(&'c Pooled);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.link().release();
    }
}
