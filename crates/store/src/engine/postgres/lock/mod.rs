//! Locks that all servers of a database see. A lock ends when the connection that holds it is closed or lost. If the
//! holder is still running after a loss, it takes its lock again.
//!
//! The database does not show whether a holder has ended together with its connection. So a holder also has a lock
//! file on its own machine, which is unlocked only when the process ends. Other machines see its claim: a row that
//! says where the holder runs and when it was last seen.

mod claim;
mod keeper;

use xxhash_rust::xxh3::xxh3_64;

use super::connection::Connection;
use super::rows::single;
use super::sql::postgres_sql;
use crate::engine::{Subject, params};
use mcpkg_base::error::Result;

pub(crate) use claim::Stamp;
pub(super) use claim::holding;
pub(crate) use keeper::SessionLock;
pub(super) use keeper::take;

/// The lock for writers. Writers to a single project share it. This number and the next three consist of "mcpkg" and a
/// counter.
pub(super) const WRITERS: i64 = 0x6d63_706b_6700_0001;

/// The lock for creating or migrating the schema.
pub(super) const MIGRATION: i64 = 0x6d63_706b_6700_0002;

/// The lock for appending events, needed while others may write to other projects.
const EVENTS: i64 = 0x6d63_706b_6700_0003;

/// The lock that all writing transactions share. A move or restore holds it alone, so that no such transaction is open.
pub(super) const GUARD: i64 = 0x6d63_706b_6700_0004;

/// The first of the two numbers of a project's lock; it spells "mcpk". The second is the low bits of the project's id.
/// If two projects have the same low bits, their writers wait for each other needlessly, but nothing else happens.
const PROJECTS: i32 = 0x6d63_706b;

/// The key of the setting that changes when the database is moved to another place.
pub(super) const MOVED: &str = "moved";

/// Returns the number of a lock.
fn key(subject: Subject) -> i64 {
    xxh3_64(subject.suffix().as_bytes()).cast_signed()
}

/// Locks a project until the transaction ends.
pub(in crate::engine) fn lock_project(connection: &Connection, id: i64) -> Result<()> {
    connection.run_text(&format!("SELECT pg_advisory_xact_lock({PROJECTS}, {})", id as i32))
}

/// Takes the lock for appending events until the transaction ends.
pub(in crate::engine) fn lock_events(connection: &Connection) -> Result<()> {
    connection.run_text(&format!("SELECT pg_advisory_xact_lock({EVENTS})"))
}

/// Whether a session holds a lock exclusively.
fn is_held(connection: &Connection, subject: Subject) -> Result<bool> {
    is_taken(connection, key(subject))
}

/// Whether a session holds the lock with this number exclusively.
pub(super) fn is_taken(connection: &Connection, number: i64) -> Result<bool> {
    // If the lock is free, this takes it, but only until the end of this statement's own transaction.
    let sql = postgres_sql!("SELECT NOT pg_try_advisory_xact_lock_shared(?1)");
    single(connection, sql, params![number], |row| row.get(0))
}

/// Returns the id of the last move of the database (`mcpkg move`), if there was one.
pub(super) fn moved(connection: &Connection) -> Result<Option<String>> {
    super::rows::first(connection, postgres_sql!("SELECT value FROM setting WHERE key = 'moved'"), params![], |row| {
        row.get(0)
    })
}
