//! Whether anything was committed.

use xxhash_rust::xxh3::xxh3_64;

use super::connection::Connection;
use super::rows::single;
use super::sql::postgres_sql;
use crate::error::Result;
use crate::store::engine::params;

/// Returns a number that differs from the last one where anything was committed between, by anybody: that of what a
/// transaction would see. What other databases of the server commit makes it differ too.
pub(in crate::store::engine) fn version(connection: &Connection) -> Result<i64> {
    let sql = postgres_sql!("SELECT pg_current_snapshot()::text");
    single(connection, sql, params![], |row| {
        row.get::<&str>(0).map(|snapshot| xxh3_64(snapshot.as_bytes()).cast_signed())
    })
}
