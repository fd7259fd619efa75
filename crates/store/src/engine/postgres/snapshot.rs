//! Turns PostgreSQL's snapshots into versions of the database. A snapshot changes with every commit.

use xxhash_rust::xxh3::xxh3_64;

/// The query for the snapshot that a transaction would see.
pub(super) const LOOK: &str = "SELECT pg_current_snapshot()::text";

/// The request for the version of the database, which the next read returns together with its rows. A separate query
/// for the version would need another round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VersionRead {
    NotAsked,
    Asked,
    Version(i64),
}

/// Returns the version of a snapshot.
pub(super) fn of(snapshot: &str) -> i64 {
    xxh3_64(snapshot.as_bytes()).cast_signed()
}

/// Returns a query whose rows have one more column at the end: the snapshot that the query saw. PostgreSQL evaluates it once
/// for all rows, and keeps their order.
pub(super) fn with_snapshot(query: &str) -> String {
    format!("SELECT found.*, ({LOOK}) FROM ({query}) AS found")
}
