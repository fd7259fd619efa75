//! Whether anything was committed.

use rusqlite::Connection;

use crate::error::Result;

/// Returns a number that differs from the last one where anything was committed between, by any process.
pub(in crate::store::engine) fn data_version(connection: &Connection) -> Result<i64> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
