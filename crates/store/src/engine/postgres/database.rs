//! An open database on a PostgreSQL server: its connection pools and its locks.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use etcetera::BaseStrategy;

use super::connect::Connector;
use super::connection::Connection;
use super::lock::{self, SessionLock};
use super::open;
use super::pool::{Manager, Pooled};
use super::rows::single;
use super::sql::postgres_sql;
use crate::Location;
use crate::engine::pool::Pool;
use crate::engine::sqlite::Access;
use crate::engine::{Holding, Mode, Subject, params};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;

pub(crate) struct Database {
    connector: Connector,
    readers: OnceLock<Pool<Manager>>,
    writers: OnceLock<Pool<Manager>>,
    local: PathBuf,
    /// The path next to which this machine keeps its lock files. It is the same for every address of this database,
    /// unless the server does not tell which database it is.
    locks: OnceLock<PathBuf>,
}

impl Database {
    /// Implements [`crate::Store::open`]; `upgrade` brings an older schema up to date.
    pub(crate) fn open(path: &Path, upgrade: bool) -> Result<Self> {
        open::open(path, upgrade).and_then(Self::of)
    }

    /// Implements [`crate::Store::open_as_it_is`].
    pub(crate) fn open_as_it_is(path: &Path) -> Result<Self> {
        open::open_as_it_is(path).and_then(Self::of)
    }

    fn of(connector: Connector) -> Result<Self> {
        let local = local(&connector)?;
        Ok(Self { connector, readers: OnceLock::new(), writers: OnceLock::new(), local, locks: OnceLock::new() })
    }

    /// Returns the location of the database, as in `--db`.
    pub(crate) fn location(&self) -> Location<'_> {
        let address = &self.connector.address;
        Location::of_server(&address.shown, address.has_password)
    }

    /// Returns the path next to which this machine keeps its own files, such as the lock for deploys and the databases
    /// that a restore replaced. No file exists at this path itself.
    pub(crate) fn local(&self) -> &Path {
        &self.local
    }

    /// Returns whether the server accepts writes now. A standby does so once it is promoted.
    pub(crate) fn access(&self) -> Result<Access> {
        let sql =
            postgres_sql!("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'");
        let reads_only = single(&*self.pooled_reader()?, sql, params![], |row| row.get(0))?;
        Ok(if reads_only { Access::ReadOnly } else { Access::Writable })
    }

    /// Returns the bytes of the tables and indexes; 0 if the server does not answer.
    pub(crate) fn size(&self) -> u64 {
        let sql = postgres_sql!(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
              WHERE relnamespace = to_regnamespace('mcpkg') AND relkind = 'r'"
        );
        let asked =
            self.pooled_reader().and_then(|connection| single(&connection, sql, params![], |row| row.get::<u64>(0)));
        asked.unwrap_or(0)
    }

    /// Takes a reading connection from the pool.
    pub(crate) fn pooled_reader(&self) -> Result<Pooled> {
        self.pool(&self.readers).get(self.connector.address.wait * 2)
    }

    /// Takes a writing connection from the pool.
    pub(crate) fn pooled_writer(&self) -> Result<Pooled> {
        self.pool(&self.writers).get(self.connector.address.wait * 2)
    }

    fn pool<'p>(&self, pool: &'p OnceLock<Pool<Manager>>) -> &'p Pool<Manager> {
        let address = &self.connector.address;
        pool.get_or_init(|| Pool::new(Manager(self.connector.clone()), address.connections, 0, address.idle))
    }

    /// Opens a connection outside the pools.
    pub(crate) fn reader(&self) -> Result<Connection> {
        Connection::open(&self.connector)
    }

    /// Opens a connection outside the pools with a time limit that is long enough to read the whole database.
    pub(crate) fn inspector(&self) -> Result<Connection> {
        let connection = self.reader()?;
        connection.stay_patient();
        Ok(connection)
    }

    /// Opens a connection outside the pools that the server notifies of commits. A standby notifies nobody.
    pub(crate) fn listener(&self) -> Result<Connection> {
        let connection = Connection::open(&self.connector)?;
        connection.listen()?;
        Ok(connection)
    }

    /// Takes a lock that all servers see; `None` if somebody else holds it.
    pub(crate) fn lock(&self, subject: Subject, mode: Mode) -> Result<Option<SessionLock>> {
        lock::take(&self.connector, self.locks()?, subject, mode)
    }

    pub(crate) fn holding(&self, subject: Subject) -> Result<Holding> {
        lock::holding(&*self.pooled_reader()?, self.locks()?, subject)
    }

    fn locks(&self) -> Result<&Path> {
        if let Some(locks) = self.locks.get() {
            return Ok(locks);
        }
        let sql = postgres_sql!("SELECT md5(system_identifier || current_database()) FROM pg_control_system()");
        let found: Result<String> = single(&*self.pooled_reader()?, sql, params![], |row| row.get(0));
        let locks = match found {
            Ok(digest) => self.local.with_file_name(&digest[..16]),
            Err(error) if error.code() == Code::Unavailable => return Err(error),
            // Without the right to ask the server, the address identifies the database.
            Err(_) => self.local.clone(),
        };
        Ok(self.locks.get_or_init(|| locks))
    }

    /// Makes the free space in the tables available to new rows, and updates the planner's statistics.
    pub(crate) fn compact(&self) -> Result<()> {
        let connection = self.pooled_writer()?;
        let _patient = connection.patient();
        connection.run_text("VACUUM (ANALYZE, SKIP_LOCKED)")
    }
}

/// Returns the path next to which this machine keeps its own files, in the user's state directory.
fn local(connector: &Connector) -> Result<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|_| {
        Error::new(Code::Unavailable, "Cannot find your state directory: HOME is not set").hint("set HOME")
    })?;
    let digest = sha256::of(connector.address.shown.to_string_lossy().as_bytes());
    let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    let folder = state.join("mcpkg").join("servers");
    std::fs::create_dir_all(&folder).map_err(|error| Error::file("make", &folder, error))?;
    Ok(folder.join(&mcpkg_base::hex::encode(&digest)[..16]))
}
