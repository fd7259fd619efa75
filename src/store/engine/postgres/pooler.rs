//! Poolers between this program and a server: pgbouncer and the like.
//!
//! One that gives each transaction another of its connections takes locks, settings and prepared statements from whoever made them,
//! without a word. One that gives each client a connection of its own is as good as the server itself.

use super::connect::Connector;
use super::connection::Connection;
use super::rows::single;
use super::sql::postgres_sql;
use crate::error::{Code, Error, Result};
use crate::store::engine::params;

/// How many connections are compared.
const COMPARED: usize = 3;

/// Refuses a pooler that gives each transaction another connection, where the server itself is not what was connected to.
///
/// # Errors
/// `E_DB_UNAVAILABLE`.
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

/// Refuses a pooler that gives each transaction another connection: two clients of it meet the same session of the server.
///
/// # Errors
/// `E_DB_UNAVAILABLE`.
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
        format!("`{shown}` is a pooler that gives each transaction another connection, such as pgbouncer with `pool_mode = transaction`"),
    )
    .hint("set `pool_mode = session` for this database, or name the database server itself: locks and settings belong to a connection"))
}

fn session(connection: &Connection) -> Result<i64> {
    let sql = postgres_sql!("SELECT pg_backend_pid()::bigint");
    single(connection, sql, params![], |row| row.get(0))
}
