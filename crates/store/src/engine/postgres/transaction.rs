//! Transactions on PostgreSQL.

use std::time::{Duration, Instant};

use postgres::SimpleQueryMessage;
use tokio::task::block_in_place;

use super::address::CHANNEL;
use super::connection::{Connection, Transaction};
use super::errors::{failed, is_lost, outcome_unknown};
use super::lock::{GUARD, MIGRATION, MOVED, WRITERS, is_taken};
use super::rows::single;
use super::snapshot;
use super::sql::postgres_sql;
use crate::engine::{Intent, params};
use crate::patience::AGAIN;
use mcpkg_base::error::{Code, Error, Result};

/// How long a write waits while the tables are migrated.
const MIGRATING: Duration = Duration::from_secs(30);

/// Runs `f` in one transaction. Commits if `f` returns `Ok`, and otherwise changes nothing.
///
/// A reading transaction sees one snapshot of the database. A writing transaction takes a lock first, so that each of
/// its statements sees the commits of all writers that the lock excludes. With [`Intent::Write`] that is every other
/// writer, as on SQLite; with [`Intent::WriteProject`] only writers to the same project. In both cases, events are
/// numbered in the order of their commits: writers to one project take a separate lock to append them
/// (`lock_events`).
pub(in crate::engine) fn in_transaction(
    connection: &Connection,
    intent: Intent,
    f: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    // After the commit or rollback, this restores the time limit that `allow_long` may have raised.
    let _limit = connection.keep_limit();
    match intent {
        Intent::Read => connection.begin_reading("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")?,
        Intent::Write => begin_writing(connection, &format!("pg_advisory_xact_lock({WRITERS})"))?,
        Intent::WriteProject => begin_writing(connection, &format!("pg_advisory_xact_lock_shared({WRITERS})"))?,
    }
    connection.transaction.set(Transaction::Open);
    let open = Open { connection, changed: connection.changed_rows() };
    f()?;
    open.commit(intent)
}

/// Returns a number that differs from the previous one if any connection has committed in between. It is derived from
/// the snapshot that a transaction would see. Commits in other databases of the same server change it too.
pub(in crate::engine) fn version(connection: &Connection) -> Result<i64> {
    single(connection, postgres_sql!("SELECT pg_current_snapshot()::text"), params![], |row| {
        row.get(0).map(snapshot::of)
    })
}

/// Raises the time limit for statements of the open transaction, so that they can read much of the database.
pub(in crate::engine) fn allow_long(connection: &Connection) {
    connection.stay_patient();
}

/// Begins to write. Waits longer than usual for a migration, which excludes all writes.
fn begin_writing(connection: &Connection, lock: &str) -> Result<()> {
    let until = Instant::now() + MIGRATING;
    loop {
        match try_to_begin_writing(connection, lock) {
            Err(error) if error.code() == Code::Busy && Instant::now() < until && is_taken(connection, MIGRATION)? => {
                block_in_place(|| std::thread::sleep(AGAIN));
            }
            begun => return begun,
        }
    }
}

fn try_to_begin_writing(connection: &Connection, lock: &str) -> Result<()> {
    // The guard keeps a move or restore from starting until this transaction ends. The setting `MOVED` is read last,
    // because an answer from before the lock was taken may be outdated.
    let guard = match connection.connector.is_alone() {
        true => "SELECT true".to_owned(),
        false => format!("SELECT pg_try_advisory_xact_lock_shared({GUARD})"),
    };
    let text = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; {guard}; SELECT {lock}; SELECT value FROM setting WHERE key = '{MOVED}'"
    );
    let begun = connection.simple_query(&text).and_then(|told| may_write(connection, &told));
    begun.inspect_err(|_| {
        // Without this, the transaction would stay open although it got no lock or may not write.
        let _ = connection.run_once("ROLLBACK");
    })
}

/// Refuses to write during a move or restore, and after the database was moved while this server was not connected.
fn may_write(connection: &Connection, told: &[SimpleQueryMessage]) -> Result<()> {
    let mut rows = told.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0)),
        _ => None,
    });
    let (is_free, _lock, moved) = (rows.next().flatten() == Some("t"), rows.next(), rows.next().flatten());
    if !is_free {
        return Err(Error::new(Code::Busy, "The database is being moved or restored; nothing was written")
            .hint("try again afterwards"));
    }
    if connection.connector.is_moved(moved) {
        return Err(Error::new(
            Code::Replaced,
            "The database was moved while this server was disconnected from it; nothing was written",
        )
        .hint("restart the server with the database's new address"));
    }
    Ok(())
}

/// An open transaction. Dropping it rolls back everything that was not committed, also after a panic.
struct Open<'c> {
    connection: &'c Connection,
    /// How many rows the connection had changed before this transaction.
    changed: u64,
}

impl Open<'_> {
    fn commit(self, intent: Intent) -> Result<()> {
        if self.connection.transaction.get() == Transaction::Failed {
            return Err(Error::internal("cannot commit a transaction in which a statement failed"));
        }
        let has_written = intent != Intent::Read && self.connection.changed_rows() != self.changed;
        let text = if has_written { format!("NOTIFY {CHANNEL}; COMMIT") } else { "COMMIT".to_owned() };
        let committed = self.connection.run_once(&text);
        if committed.is_ok() {
            self.connection.transaction.set(Transaction::None);
        }
        committed.map_err(|error| if has_written && is_lost(&error) { outcome_unknown(error) } else { failed(error) })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.connection.transaction.replace(Transaction::None) == Transaction::None || self.connection.is_closed() {
            return;
        }
        if let Err(error) = self.connection.run_once("ROLLBACK") {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}
