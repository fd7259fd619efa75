//! The open database, as used by all of mcpkg.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::check::{self, Findings};
use super::db::{Work, once};
use super::deadline::Deadline;
use super::engine::sqlite::Access;
use super::engine::{Connection, Engine, Intent, Pooled, Progress, Version, params, sql};
use super::patience::{AGAIN, PATIENCE};
use super::{Db, Location, Reader};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;

/// A handle of the open database, with limits on what it may do. It is cheap to clone, and can be shared between
/// threads.
///
/// # Errors
/// Every function that reads may return `E_DB_BUSY`, `E_DB_UNAVAILABLE`, `E_DB_REPLACED` and `E_STORAGE` for the
/// database as a whole, `E_TIMEOUT` on a handle with a deadline, and `E_DAMAGED` or `E_DB_CORRUPT` for a row that was
/// changed by damage. Functions that write may also return `E_MAY_ONLY_READ`, `E_READ_ONLY`, `E_DISK_FULL` and, on a
/// database server, `E_OUTCOME_UNKNOWN`. Comments elsewhere name only the errors that callers handle differently.
#[derive(Clone)]
pub struct Store {
    pub(super) engine: Arc<Engine>,
    /// Set when the server ends, to end reads that have a deadline.
    ended: Arc<AtomicBool>,
    rights: Rights,
}

/// The rights of a handle, and the settings of its reads.
#[derive(Clone, Debug, Default)]
struct Rights {
    may_write: bool,
    /// When the handle's reads end; `None` for no limit.
    deadline: Option<Deadline>,
    /// The version that the handle's first read saw, once that read has reported it.
    seen: Option<Arc<OnceLock<Version>>>,
    /// Whether the handle waits while the database server is unreachable.
    is_patient: bool,
}

impl Store {
    /// Opens the database at `path`, or creates it with its folder if `path` does not exist. A path that begins with
    /// `postgres://` or `postgresql://` is the address of a database on a server; see docs/how-to/postgresql.md.
    ///
    /// Checks that the database belongs to mcpkg, and that it has the schema of its version. A file that fails a check
    /// is not changed. Migrates an older schema in a file, after keeping a copy next to the file. On a server, an older
    /// schema needs [`Store::open_up_to_date`].
    pub fn open(path: &Path) -> Result<Self> {
        let rights = Rights { may_write: true, ..Rights::default() };
        Ok(Self { engine: Arc::new(Engine::open(path)?), ended: Arc::default(), rights })
    }

    /// Like [`Store::open`], but also migrates an older schema on a server. Use this only for commands that say so to
    /// the user, because other programs may be using the database.
    pub fn open_up_to_date(path: &Path) -> Result<Self> {
        let rights = Rights { may_write: true, ..Rights::default() };
        Ok(Self { engine: Arc::new(Engine::open_up_to_date(path)?), ended: Arc::default(), rights })
    }

    /// Opens the database at `path` for a single read, if it exists and has this program's schema. Does not create,
    /// migrate or clean up anything.
    ///
    /// # Errors
    /// Errors of [`Store::open`], and `E_DB_UNAVAILABLE` if there is no database or its schema is older.
    pub fn open_as_it_is(path: &Path) -> Result<Self> {
        let rights = Rights::default();
        Ok(Self { engine: Arc::new(Engine::open_as_it_is(path)?), ended: Arc::default(), rights })
    }

    /// Whether something exists at `path`, so that [`Store::open`] would not create a database there. It need not be a
    /// database. A server always counts as existing.
    pub fn is_at(path: &Path) -> bool {
        Engine::is_at(path)
    }

    /// Whether `path` is the address of a database on a server.
    pub fn is_server(path: &Path) -> bool {
        Engine::is_server(path)
    }

    /// Sets the function that reads a password again from its source after a server has refused it.
    pub fn read_passwords_with(reader: fn(&str) -> Result<String>) {
        Engine::read_passwords_with(reader);
    }

    /// Returns a read-only handle, for a caller that may only read.
    #[must_use]
    pub fn reading(&self) -> Self {
        self.with_rights(Rights { may_write: false, ..self.rights.clone() })
    }

    /// Whether this handle may write. The disk may still be read-only: see [`Store::access`].
    pub fn may_write(&self) -> bool {
        self.rights.may_write
    }

    /// Returns a handle for serving a client. Each of its reads ends with `E_TIMEOUT` after `limit`, when `cancelled` is
    /// cancelled, or after [`Store::end_reads`].
    #[must_use]
    pub fn limited(&self, limit: Duration, cancelled: CancellationToken) -> Self {
        let deadline = Some(Deadline { limit, cancelled, ended: Arc::clone(&self.ended) });
        self.with_rights(Rights { deadline, ..self.rights.clone() })
    }

    /// Returns a handle for work that continues although the database server is unreachable for a while. It tries for
    /// up to 30 seconds to begin a transaction.
    #[must_use]
    pub fn patient(&self) -> Self {
        self.with_rights(Rights { is_patient: self.location().file().is_none(), ..self.rights.clone() })
    }

    /// Returns a handle that does not wait for the database server.
    #[must_use]
    pub fn hasty(&self) -> Self {
        self.with_rights(Rights { is_patient: false, ..self.rights.clone() })
    }

    /// Calls `run` with `f`. On a patient handle, repeats this for up to 30 seconds until `run` calls `f`.
    fn begun(&self, f: Work<'_>, run: impl Fn(Work<'_>) -> Result<()>) -> Result<()> {
        let (is_begun, until) = (Cell::new(false), Instant::now() + PATIENCE);
        let mut f = |db: &Db<'_>| {
            is_begun.set(true);
            f(db)
        };
        loop {
            match run(&mut f) {
                Err(error)
                    if self.rights.is_patient
                        && !is_begun.get()
                        && matches!(error.code(), Code::Unavailable | Code::Busy)
                        && Instant::now() < until =>
                {
                    std::thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
    }

    /// Returns a handle whose first read stores in `seen` the version of the database that it saw. Nothing is stored
    /// if [`Reader::tells`] returns false.
    #[must_use]
    pub fn telling(&self, seen: &Arc<OnceLock<Version>>) -> Self {
        self.with_rights(Rights { seen: Some(Arc::clone(seen)), ..self.rights.clone() })
    }

    fn with_rights(&self, rights: Rights) -> Self {
        Self { engine: Arc::clone(&self.engine), ended: Arc::clone(&self.ended), rights }
    }

    /// Ends all current and future reads that have a deadline.
    pub fn end_reads(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Returns the location of the database, for messages.
    pub fn location(&self) -> Location<'_> {
        self.engine.location()
    }

    /// Returns the size of the database on the disk in bytes, including commits that are not in its file yet.
    pub fn size(&self) -> u64 {
        self.engine.size()
    }

    /// Returns whether the database can be written, and if not, how it is read.
    pub fn access(&self) -> Result<Access> {
        self.engine.access()
    }

    /// Runs `f` in one read transaction.
    ///
    /// # Errors
    /// Errors of `f`.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        once(f, |f| self.begun(f, |f| self.try_read(f)))
    }

    fn try_read(&self, f: Work<'_>) -> Result<()> {
        let connection = self.engine.pooled_reader()?;
        let watch = self.rights.deadline.as_ref().map(|deadline| deadline.watch(connection.link())).transpose()?;
        let _released = watch.as_ref().map(|_| Released(&connection));
        let mut read = || Db::transact(connection.link(), watch.as_deref(), Intent::Read, f);
        match self.rights.seen.as_ref().filter(|seen| seen.get().is_none()) {
            Some(seen) => {
                let (done, version) = connection.link().telling(read);
                if let Some(version) = version {
                    let _ = seen.set(version);
                }
                done
            }
            None => read(),
        }
    }

    /// Runs `f`, which must execute only one statement. Uses the connection that opened the database, as long as no
    /// [`Reader`] or pool has taken that connection. This saves opening a second connection at every start.
    pub fn read_once<T>(&self, f: impl Fn(&Db<'_>) -> Result<T>) -> Result<T> {
        let first = self.engine.with_first(|connection| f(&Db::new(connection, None)));
        first.unwrap_or_else(|| self.read(f))
    }

    /// Starts to open the writing connection in the background, for a write that follows other work.
    pub fn expect_write(&self) {
        self.engine.expect_write();
    }

    /// Runs `f` in one write transaction. Commits if `f` returns `Ok`, and otherwise changes nothing. When this returns `Ok`,
    /// the changes are on the disk.
    ///
    /// # Errors
    /// Errors of `f`.
    pub fn write<T>(&self, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Intent::Write, f)
    }

    pub(super) fn write_as<T>(&self, intent: Intent, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        once(f, |f| self.write_with(intent, f))
    }

    fn write_with(&self, intent: Intent, f: Work<'_>) -> Result<()> {
        self.check_may_write()?;
        self.begun(f, |f| Db::transact(self.engine.pooled_writer()?.link(), None, intent, f))
    }

    /// Opens a separate connection for a thread that reads all the time, with a cache of 16 MiB.
    pub fn reader(&self) -> Result<Reader> {
        self.reader_on(self.engine.reader()?)
    }

    /// Opens a separate connection for one of many clients, with a cache of 2 MiB.
    pub fn slim_reader(&self) -> Result<Reader> {
        self.reader_on(self.engine.slim_reader()?)
    }

    fn reader_on(&self, connection: Connection) -> Result<Reader> {
        let watch = self.rights.deadline.as_ref().map(|deadline| deadline.watch(connection.link())).transpose()?;
        Ok(Reader::new(Arc::clone(&self.engine), connection, watch))
    }

    /// Moves the content of SQLite's write-ahead log into the database file, as far as other connections allow. A
    /// server calls this when it ends, to leave a single complete file. Nothing is lost if this fails.
    pub fn checkpoint(&self) {
        self.engine.checkpoint();
    }

    /// Checks the whole database: its structure, the SHA-256 of every content, the checksums of rows, the references
    /// between rows, and the words of the search index.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` if the damage is so large that the check itself fails.
    pub fn inspect(&self, progress: &Progress<'_>) -> Result<Findings> {
        check::inspect(self.engine.inspector()?.link(), progress)
    }

    /// Fails if this handle may not write.
    pub(super) fn check_may_write(&self) -> Result<()> {
        if self.may_write() {
            return Ok(());
        }
        Err(Error::new(Code::MayOnlyRead, "This access key can only read")
            .hint("`mcpkg access create NAME` creates a key with write access"))
    }

    /// Returns a text that is unique to this database and reveals nothing about it: the SHA-256, in hex, of its location and
    /// generation. Two programs compare their texts to find out whether they use the same database.
    pub fn mark(&self) -> Result<String> {
        let sql = sql!("SELECT value FROM setting WHERE key = 'generation'");
        let generation: String = self.read(|db| db.single(sql, params![], |row| row.get(0)))?;
        let location = self.location();
        let place = location.file().unwrap_or(location.argument()).to_string_lossy();
        Ok(sha256::hex(format!("{place}\0{generation}")))
    }
}

/// Removes the deadline from a pooled connection on drop.
struct Released<'c>(&'c Pooled);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.link().release();
    }
}
