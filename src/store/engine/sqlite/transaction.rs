//! Transactions.

use rusqlite::Connection;

use crate::error::Result;
use crate::store::engine::Intent;

/// An open transaction; dropping it rolls back whatever was not committed, a panic's too.
pub(in crate::store::engine) struct Transaction<'c>(&'c Connection);

/// Begins a transaction. One that writes is begun IMMEDIATE: a deferred one that reads first and writes then fails at
/// once, without waiting, where another process wrote between the two.
pub(in crate::store::engine) fn begin(connection: &Connection, intent: Intent) -> Result<Transaction<'_>> {
    let begin = match intent {
        Intent::Read => "BEGIN DEFERRED",
        Intent::Write | Intent::WriteProject => "BEGIN IMMEDIATE",
    };
    connection.prepare_cached(begin)?.execute([])?;
    Ok(Transaction(connection))
}

impl Transaction<'_> {
    /// Commits: what was written is on the disk.
    pub(in crate::store::engine) fn commit(self) -> Result<()> {
        self.0.prepare_cached("COMMIT")?.execute([])?;
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
