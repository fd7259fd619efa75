//! Locks that all servers of a database see. They end with the connection that holds them, however it ends.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::connect::Connector;
use super::connection::Connection;
use super::rows::single;
use super::sql::postgres_sql;
use crate::error::Result;
use crate::store::engine::{Mode, Subject, params};

/// The lock of those that write, shared by those that write to one project: "mcpkg" and a number, as the following.
pub(super) const WRITERS: i64 = 0x6d63_706b_6700_0001;

/// The lock of whoever makes or migrates the schema.
pub(super) const MIGRATION: i64 = 0x6d63_706b_6700_0002;

/// The lock of whoever appends events while others write to other projects.
const EVENTS: i64 = 0x6d63_706b_6700_0003;

/// The first half of the locks of projects, which are pairs: "mcpk". The second is the end of the project's id; two that
/// share it wait for each other in vain, no more.
const PROJECTS: i32 = 0x6d63_706b;

/// Returns the number of a lock.
fn key(subject: Subject) -> i64 {
    xxh3_64(subject.suffix().as_bytes()).cast_signed()
}

/// A lock on a connection of its own; given back when dropped.
pub(in crate::store) struct SessionLock {
    connection: Box<Connection>,
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // A server frees the locks of a connection that was closed some time after; whoever looks next is to find it free.
        if let Err(error) = self.connection.run_once("SELECT pg_advisory_unlock_all()") {
            tracing::debug!(%error, "a lock ends with its connection");
        }
    }
}

impl fmt::Debug for SessionLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionLock")
    }
}

/// Takes a lock; `None` where somebody holds it who excludes that.
pub(super) fn take(connector: &Connector, subject: Subject, mode: Mode) -> Result<Option<SessionLock>> {
    let connection = Connection::open(connector)?;
    let sql = match mode {
        Mode::Shared => postgres_sql!("SELECT pg_try_advisory_lock_shared(?1)"),
        Mode::Exclusive => postgres_sql!("SELECT pg_try_advisory_lock(?1)"),
    };
    let is_ours = single(&connection, sql, params![key(subject)], |row| row.get(0))?;
    Ok(bool::then(is_ours, || SessionLock { connection: Box::new(connection) }))
}

/// Locks a project until the transaction ends.
pub(in crate::store::engine) fn lock_project(connection: &Connection, id: i64) -> Result<()> {
    connection.run_text(&format!("SELECT pg_advisory_xact_lock({PROJECTS}, {})", id as i32))
}

/// Takes the right to append events until the transaction ends: it is given back when others see what was committed.
pub(in crate::store::engine) fn lock_events(connection: &Connection) -> Result<()> {
    connection.run_text(&format!("SELECT pg_advisory_xact_lock({EVENTS})"))
}

/// Whether somebody holds a lock exclusively.
pub(super) fn is_held(connection: &Connection, subject: Subject) -> Result<bool> {
    // Taken by this statement's transaction alone, which ends with it.
    let sql = postgres_sql!("SELECT NOT pg_try_advisory_xact_lock_shared(?1)");
    single(connection, sql, params![key(subject)], |row| row.get(0))
}
