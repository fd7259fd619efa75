//! The pools of connections to a PostgreSQL server.

use r2d2::ManageConnection;

use super::connect::Connector;
use super::connection::Connection;
use mcpkg_base::error::{Error, Result};

/// A connection from a pool, returned to it when dropped.
pub(crate) type Pooled = r2d2::PooledConnection<Manager>;

/// Opens the connections of a pool.
pub(crate) struct Manager(pub(super) Connector);

impl ManageConnection for Manager {
    type Connection = Connection;
    type Error = Error;

    fn connect(&self) -> Result<Connection> {
        Connection::open(&self.0)
    }

    fn is_valid(&self, _connection: &mut Connection) -> Result<()> {
        // Not checked here: a lost connection is replaced when it is used.
        Ok(())
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        connection.is_closed()
    }
}
