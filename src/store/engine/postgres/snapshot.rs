//! The snapshot that a read sees, which tells whether anything was committed.

use xxhash_rust::xxh3::xxh3_64;

/// Looks which snapshot a transaction would see: one that differs after every commit.
pub(super) const LOOK: &str = "SELECT pg_current_snapshot()::text";

/// Whether a read tells which version of the database it saw: a look of its own is a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionRead {
    NotAsked,
    Asked,
    Version(i64),
}

/// Returns the version that a snapshot is of.
pub(super) fn of(snapshot: &str) -> i64 {
    xxh3_64(snapshot.as_bytes()).cast_signed()
}

/// Returns a query whose rows have one more column at their end: the snapshot that it saw. PostgreSQL looks once for all of
/// them, and keeps their order.
pub(super) fn with_snapshot(query: &str) -> String {
    format!("SELECT found.*, ({LOOK}) FROM ({query}) AS found")
}
