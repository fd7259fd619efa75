//! Detects commits of any process.

use rusqlite::Connection;

use super::errors::failed;
use mcpkg_base::error::Result;

/// Returns a number that differs from the previous one if any process has committed in between.
pub(in crate::engine) fn data_version(connection: &Connection) -> Result<i64> {
    connection.prepare_cached("PRAGMA data_version").map_err(failed)?.query_row([], |row| row.get(0)).map_err(failed)
}
