//! Transactions.

use rusqlite::Connection;

use super::errors::{failed, is_refused_row};
use super::faults;
use crate::engine::{Intent, damaged};
use mcpkg_base::error::{Error, Result};

/// Runs `f` in one transaction; see [`Link::in_transaction`](crate::engine::Link::in_transaction).
pub(in crate::engine) fn in_transaction<T>(
    connection: &Connection,
    intent: Intent,
    f: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let transaction = begin(connection, intent)?;
    let done = f().and_then(|value| transaction.commit().map(|()| value));
    done.map_err(|error| if is_refused_row(&error) { or_damage(connection, error) } else { error })
}

/// Returns the damage that made SQLite refuse a row, such as an index entry of a row that is gone; `error`, a bug of ours, if the file
/// is sound.
#[cold]
fn or_damage(connection: &Connection, error: Error) -> Error {
    match faults(connection) {
        // SQLite's own words begin with a row that names the file.
        Ok(faults) => faults.first().and_then(|fault| fault.lines().last()).map_or(error, damaged),
        Err(damage) => damage,
    }
}

/// An open transaction; dropping it rolls back whatever was not committed, a panic's too.
struct Transaction<'c>(&'c Connection);

/// Begins a transaction. One that writes is begun IMMEDIATE: a deferred one that reads first and writes then fails at
/// once, without waiting, where another process wrote between the two.
fn begin(connection: &Connection, intent: Intent) -> Result<Transaction<'_>> {
    let begin = match intent {
        Intent::Read => "BEGIN DEFERRED",
        Intent::Write | Intent::WriteProject => "BEGIN IMMEDIATE",
    };
    connection.prepare_cached(begin).map_err(failed)?.execute([]).map_err(failed)?;
    Ok(Transaction(connection))
}

impl Transaction<'_> {
    /// Commits: what was written is on the disk.
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
