//! Whether anything was committed.

use super::connection::Connection;
use super::rows::single;
use super::snapshot;
use super::sql::postgres_sql;
use crate::error::Result;
use crate::store::engine::params;

/// Returns a number that differs from the last one where anything was committed between, by anybody: that of what a
/// transaction would see. What other databases of the server commit makes it differ too.
pub(in crate::store::engine) fn version(connection: &Connection) -> Result<i64> {
    single(connection, postgres_sql!("SELECT pg_current_snapshot()::text"), params![], |row| {
        row.get(0).map(snapshot::of)
    })
}
