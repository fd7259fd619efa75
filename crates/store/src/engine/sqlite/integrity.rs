//! Runs SQLite's own checks of a database file.

use rusqlite::Connection;

use super::errors::failed;
use mcpkg_base::error::Result;

/// How many rows with a dangling reference are reported one by one.
const NAMED: usize = 100;

/// Returns the first faults in the file's structure, and the first references to missing rows. An intact file has
/// none.
pub(in crate::engine) fn faults(connection: &Connection) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check(20)").map_err(failed)?;
    for line in statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)? {
        match line.map_err(failed)? {
            sound if sound == "ok" => {}
            fault => faults.push(fault),
        }
    }
    let mut statement = connection.prepare("PRAGMA foreign_key_check").map_err(failed)?;
    for table in statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?.take(NAMED) {
        faults.push(format!("a row of table {} refers to a missing row", table.map_err(failed)?));
    }
    Ok(faults)
}
