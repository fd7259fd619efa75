//! Opens and configures connections to a database file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::{AsciiSet, utf8_percent_encode};
use r2d2::ManageConnection;
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::access::Access;
use super::errors::{LONGEST, failed};
use crate::engine::BUSY_TIMEOUT;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::platform::{IS_WINDOWS, SYSTEM, System};

/// The page cache of a pooled connection, in KiB.
pub(super) const POOLED_CACHE: i64 = 2 * 1024;

/// The page cache of a connection that reads all the time, in KiB.
pub(super) const READER_CACHE: i64 = 16 * 1024;

/// The maximum length of an SQL statement, in bytes. It also applies to the statements in a file's schema.
const LONGEST_SQL: i32 = 1 << 20;

/// Returns a connection to `path` with a page cache of `cache` KiB.
pub(super) fn connect(path: &Path, access: Access, cache: i64, query_only: bool) -> Result<Connection> {
    let mut connection = Connection::open_with_flags(uri(path, access), flags(access)).map_err(failed)?;
    set_up(&mut connection, cache, query_only).map_err(failed)?;
    Ok(connection)
}

/// Moves the content of the WAL into the file. Waits at most 200 ms for other connections that use the WAL.
pub(super) fn checkpoint(path: &Path) -> Result<()> {
    let connection = connect(path, Access::Writable, POOLED_CACHE, false)?;
    connection.busy_timeout(Duration::from_millis(200)).map_err(failed)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)
}

/// A connection from a pool, returned to it when dropped.
pub(crate) type Pooled = r2d2::PooledConnection<Manager>;

/// Opens the connections of a pool. The first one may be open already.
pub(crate) struct Manager {
    others: SqliteConnectionManager,
    first: Mutex<Option<Connection>>,
    query_only: bool,
}

impl Manager {
    /// Returns a manager that opens connections to `path` with a small page cache. It hands out `first` before it
    /// opens new ones.
    pub(super) fn new(path: &Path, access: Access, first: Option<Connection>, query_only: bool) -> Self {
        let others = SqliteConnectionManager::file(uri(path, access))
            .with_flags(flags(access))
            .with_init(move |connection| set_up(connection, POOLED_CACHE, query_only));
        Self { others, first: Mutex::new(first), query_only }
    }
}

impl ManageConnection for Manager {
    type Connection = Connection;
    type Error = Error;

    fn connect(&self) -> Result<Connection> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(mut first) => set_up(&mut first, POOLED_CACHE, self.query_only).map(|()| first),
            None => self.others.connect(),
        }
        .map_err(failed)
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<()> {
        self.others.is_valid(connection).map_err(failed)
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        self.others.has_broken(connection)
    }
}

fn flags(access: Access) -> OpenFlags {
    let mode = match access {
        Access::Writable => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::ReadOnly | Access::Immutable | Access::Full => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI
}

/// Characters that would end the path in a URI, or begin an escape.
const ENDS_A_PATH: &AsciiSet = &AsciiSet::EMPTY.add(b'%').add(b'?').add(b'#');

/// Returns a `file:` URI, because only a URI can contain the `immutable` option. Escapes every byte that could end
/// the path.
fn uri(path: &Path, access: Access) -> PathBuf {
    let path = path.to_string_lossy();
    let path = if IS_WINDOWS { format!("/{}", path.replace('\\', "/")) } else { path.into_owned() };
    let mut uri = format!("file:{}", utf8_percent_encode(&path, ENDS_A_PATH));
    if access.is_immutable() {
        uri.push_str("?immutable=1");
    }
    PathBuf::from(uri)
}

/// How long to sleep between two attempts to lock the database. SQLite's own timeout sleeps for up to 100 ms, which
/// is too long: a process with many short transactions releases the database and locks it again in that time.
const NEXT_TRY: Duration = Duration::from_millis(2);

/// Sleeps until the next attempt; `tries` were made so far. Returns false if there should be no further attempt.
pub(super) fn wait(tries: i32) -> bool {
    wait_for(BUSY_TIMEOUT, tries)
}

/// Like [`wait`], for callers that block others while they wait.
pub(super) fn wait_briefly(tries: i32) -> bool {
    wait_for(BUSY_TIMEOUT / 20, tries)
}

fn wait_for(limit: Duration, tries: i32) -> bool {
    let is_in_time = NEXT_TRY * u32::try_from(tries).unwrap_or(0) < limit;
    if is_in_time {
        std::thread::sleep(NEXT_TRY);
    }
    is_in_time
}

/// Configures a connection. The order matters: without a busy handler first, the first switch to WAL can fail with "database is
/// locked".
pub(super) fn set_up(connection: &mut Connection, cache: i64, query_only: bool) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))?;
    // The file may come from a stranger, so its triggers and views never run, and no statement writes its schema. (The actions
    // of foreign keys still work; they are not triggers.)
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    // These limits have to be set before the first statement, which reads the schema.
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;
         PRAGMA cache_size = -{cache};
         PRAGMA query_only = {};",
        if query_only { "ON" } else { "OFF" }
    ))?;
    if SYSTEM == System::MacOs {
        // Without this, a commit may still be in the disk's own cache when SQLite reports it.
        connection.execute_batch("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;")?;
    }
    // Without this, binding a value that a plan could depend on, such as a LIMIT, would prepare the statement again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_is_compiled_without_what_is_not_used() {
        let connection = Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare("SELECT compile_options FROM pragma_compile_options").unwrap();
        let options: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(options.iter().any(|option| option == "ENABLE_FTS5"), "{options:?}");
        for unused in ["ENABLE_FTS3", "ENABLE_RTREE", "ENABLE_DBSTAT_VTAB", "SOUNDEX", "ENABLE_MEMORY_MANAGEMENT"] {
            assert!(!options.iter().any(|option| option == unused), "{unused}: .cargo/config.toml was not read");
        }
    }

    #[test]
    fn paths_with_special_characters_can_be_opened() {
        for name in ["plain.db", "a b.db", "50%.db", "%41.db", "what?.db", "a#b.db", "é\u{1F600}.db", "a'b\"c&=+.db"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            let connection = connect(&path, Access::Writable, POOLED_CACHE, false).unwrap();
            connection.execute_batch("CREATE TABLE t (x)").unwrap();
            drop(connection);
            assert!(std::fs::metadata(&path).unwrap().len() > 0, "{name}");
            let connection = connect(&path, Access::Immutable, POOLED_CACHE, true).unwrap();
            assert_eq!(connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
        }
    }
}
