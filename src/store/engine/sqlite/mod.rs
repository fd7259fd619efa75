//! SQLite: all that only this engine has, and the one place that names rusqlite, r2d2 and refinery.

pub(in crate::store) mod index;
pub(in crate::store) mod integrity;
pub(in crate::store) mod open;
pub(in crate::store) mod schema;
pub(in crate::store) mod search;

mod backup;
mod connect;
mod database;
mod errors;
mod functions;
mod pool;
mod rows;
mod scratch;
pub(super) mod transaction;

pub(super) use database::Database;
pub(super) use errors::is_violated;
pub(super) use pool::Pooled;
pub(super) use rows::{Row, each, one, run};
pub(super) use rusqlite::Connection;

/// Page cache of a pooled connection and of one that reads all the time, in KiB.
const POOLED_CACHE: i64 = 2 * 1024;
const READER_CACHE: i64 = 16 * 1024;

/// Makes a statement that only SQLite takes; for files in this folder alone.
macro_rules! sqlite_sql {
    ($text:literal) => {
        const { $crate::store::engine::Sql::new($text) }
    };
}
use sqlite_sql;

/// Returns a number that differs from the last one where anything was committed between, by any process.
pub(super) fn data_version(connection: &Connection) -> crate::error::Result<i64> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}
