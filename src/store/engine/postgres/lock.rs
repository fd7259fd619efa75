//! Locks that all servers of a database see. They end with the connection that holds them, however it ends: a holder that still works
//! takes its lock again then.
//!
//! Nobody can tell from the database whether a holder whose connection ended has ended too. On its own machine it holds a lock file
//! beside, which ends with its process alone. Elsewhere its row says where it was, and when it was seen last.

mod claim;
mod keeper;

use xxhash_rust::xxh3::xxh3_64;

use super::connection::Connection;
use super::rows::single;
use super::sql::postgres_sql;
use crate::error::Result;
use crate::store::engine::{Subject, params};

pub(in crate::store) use claim::Stamp;
pub(super) use claim::holding;
pub(in crate::store) use keeper::SessionLock;
pub(super) use keeper::take;

/// The lock of those that write, shared by those that write to one project: "mcpkg" and a number, as the following.
pub(super) const WRITERS: i64 = 0x6d63_706b_6700_0001;

/// The lock of whoever makes or migrates the schema.
pub(super) const MIGRATION: i64 = 0x6d63_706b_6700_0002;

/// The lock of whoever appends events while others write to other projects.
const EVENTS: i64 = 0x6d63_706b_6700_0003;

/// The lock that each transaction that writes shares, so that none is open while somebody is alone with the database.
pub(super) const GUARD: i64 = 0x6d63_706b_6700_0004;

/// The first half of the locks of projects, which are pairs: "mcpk". The second is the end of the project's id; two that
/// share it wait for each other in vain, no more.
const PROJECTS: i32 = 0x6d63_706b;

/// The key of the setting that differs after each move of the database to another place.
pub(super) const MOVED: &str = "moved";

/// Returns the number of a lock.
fn key(subject: Subject) -> i64 {
    xxh3_64(subject.suffix().as_bytes()).cast_signed()
}

/// Locks a project until the transaction ends.
pub(in crate::store::engine) fn lock_project(connection: &Connection, id: i64) -> Result<()> {
    connection.run_text(&format!("SELECT pg_advisory_xact_lock({PROJECTS}, {})", id as i32))
}

/// Takes the right to append events until the transaction ends: it is given back when others see what was committed.
pub(in crate::store::engine) fn lock_events(connection: &Connection) -> Result<()> {
    connection.run_text(&format!("SELECT pg_advisory_xact_lock({EVENTS})"))
}

/// Whether a session holds a lock exclusively.
fn is_held(connection: &Connection, subject: Subject) -> Result<bool> {
    // Taken by this statement's transaction alone, which ends with it.
    let sql = postgres_sql!("SELECT NOT pg_try_advisory_xact_lock_shared(?1)");
    single(connection, sql, params![key(subject)], |row| row.get(0))
}

/// Returns which move of the database was the last one.
pub(super) fn moved(connection: &Connection) -> Result<Option<String>> {
    super::rows::one(connection, postgres_sql!("SELECT value FROM setting WHERE key = 'moved'"), params![], |row| {
        row.get(0)
    })
}
