//! Detects commits of any connection to a PostgreSQL server.

use super::connection::Connection;
use super::rows::single;
use super::snapshot;
use super::sql::postgres_sql;
use crate::engine::params;
use mcpkg_base::error::Result;

/// Returns a number that differs from the previous one if any connection has committed in between. It is derived from
/// the snapshot that a transaction would see. Commits in other databases of the same server change it too.
pub(in crate::engine) fn version(connection: &Connection) -> Result<i64> {
    single(connection, postgres_sql!("SELECT pg_current_snapshot()::text"), params![], |row| {
        row.get(0).map(snapshot::of)
    })
}
