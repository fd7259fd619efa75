//! Detects poolers between this program and a server, such as pgbouncer.
//!
//! A pooler in transaction mode gives each transaction a different connection, so that locks, settings and prepared
//! statements are silently lost. A pooler in session mode gives each client a connection of its own, and works like a
//! direct connection.

use super::connect::Connector;
use super::connection::Connection;
use super::rows::single;
use super::sql::postgres_sql;
use crate::engine::params;
use mcpkg_base::error::{Code, Error, Result};

/// How many connections to compare.
const COMPARED: usize = 3;

/// Refuses a pooler in transaction mode. Skips the comparison if this is a direct connection to the server.
pub(super) fn refuse_at_start(connector: &Connector, connection: &Connection) -> Result<()> {
    let sql = postgres_sql!("SELECT current_setting('port')::bigint");
    let port: i64 = single(connection, sql, params![], |row| row.get(0))?;
    let named = connector.address.config.get_ports();
    let is_itself = match named {
        [] => port == 5432,
        named => named.iter().all(|named| i64::from(*named) == port),
    };
    if is_itself { Ok(()) } else { refuse(connector, connection) }
}

/// Refuses a pooler in transaction mode. Opens several connections: if two of them share a session of the server, there is
/// such a pooler.
pub(super) fn refuse(connector: &Connector, connection: &Connection) -> Result<()> {
    let mut others = Vec::new();
    let own = session(connection)?;
    let mut is_shared = false;
    while others.len() < COMPARED && !is_shared {
        let other = Connection::open(connector)?;
        is_shared = session(&other)? == own || session(connection)? != own;
        others.push(other);
    }
    if !is_shared {
        return Ok(());
    }
    let shown = connector.address.shown.display();
    Err(Error::new(
        Code::Unavailable,
        format!(
            "`{shown}` is a connection pooler that can give each transaction a different connection, such as \
                pgbouncer with `pool_mode = transaction`"
        ),
    )
    .hint(
        "set `pool_mode = session` for this database, or connect directly to the database server: mcpkg's locks and \
            settings apply to one connection",
    ))
}

fn session(connection: &Connection) -> Result<i64> {
    let sql = postgres_sql!("SELECT pg_backend_pid()::bigint");
    single(connection, sql, params![], |row| row.get(0))
}
