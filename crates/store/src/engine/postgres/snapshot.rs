//! The snapshot that a read sees. It changes with every commit.

use xxhash_rust::xxh3::xxh3_64;

/// Asks for the snapshot that a transaction would see. It differs after every commit.
pub(super) const LOOK: &str = "SELECT pg_current_snapshot()::text";

/// Whether a read reports which version of the database it saw. A separate query for that would be one more round trip.
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
