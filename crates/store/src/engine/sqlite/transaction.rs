//! Transactions on SQLite.

use rusqlite::Connection;

use super::errors::{failed, is_refused_row};
use super::faults;
use crate::engine::{Intent, damaged};
use mcpkg_base::error::{Error, Result};

/// Runs `f` in one transaction; see [`Link::in_transaction`](crate::engine::Link::in_transaction).
pub(in crate::engine) fn in_transaction(
    connection: &Connection,
    intent: Intent,
    f: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let transaction = begin(connection, intent)?;
    let done = f().and_then(|()| transaction.commit());
    done.map_err(|error| if is_refused_row(&error) { or_damage(connection, error) } else { error })
}

/// Returns a number that differs from the previous one if any process has committed in between.
pub(in crate::engine) fn data_version(connection: &Connection) -> Result<i64> {
    connection.prepare_cached("PRAGMA data_version").map_err(failed)?.query_row([], |row| row.get(0)).map_err(failed)
}

/// Returns the damage that made SQLite refuse a row, such as an index entry of a missing row. If the file is intact,
/// returns `error` itself, which is then a bug of mcpkg.
#[cold]
fn or_damage(connection: &Connection, error: Error) -> Error {
    match faults(connection) {
        // SQLite's message begins with a line that names the file, so take the last line.
        Ok(faults) => faults.first().and_then(|fault| fault.lines().last()).map_or(error, damaged),
        Err(damage) => damage,
    }
}

/// An open transaction. Dropping it rolls back everything that was not committed, also after a panic.
struct Transaction<'c>(&'c Connection);

/// Begins a transaction. A writing transaction begins IMMEDIATE. If it were deferred and read first, its first write
/// would fail without waiting whenever another process had written in between.
fn begin(connection: &Connection, intent: Intent) -> Result<Transaction<'_>> {
    let begin = match intent {
        Intent::Read => "BEGIN DEFERRED",
        Intent::Write | Intent::WriteProject => "BEGIN IMMEDIATE",
    };
    connection.prepare_cached(begin).map_err(failed)?.execute([]).map_err(failed)?;
    Ok(Transaction(connection))
}

impl Transaction<'_> {
    /// Commits. After this, the changes are on the disk.
    fn commit(self) -> Result<()> {
        self.0.prepare_cached("COMMIT").map_err(failed)?.execute([]).map_err(failed)?;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}
