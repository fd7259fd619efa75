//! Tasks: long tool calls that were answered at once, and what became of them.

use rusqlite::{OptionalExtension, Row, params};
use uuid::Uuid;

use super::Db;
use crate::clock::Millis;
use crate::error::Result;

/// Limit on the tasks of one asker whose time is not over.
pub const MAX_TASKS: i64 = 256;

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A server works on it.
    Working,
    /// It ended with a result, which may say that the tool failed.
    Completed,
    /// It ended without a result.
    Failed,
    /// It was given up because its asker wanted so.
    Cancelled,
}

impl Status {
    /// Returns the word in the table.
    const fn word(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Returns the status that `word` stands for; the table takes no other word than the four.
    fn of(word: &str) -> Self {
        match word {
            "working" => Status::Working,
            "completed" => Status::Completed,
            "cancelled" => Status::Cancelled,
            _ => Status::Failed,
        }
    }
}

/// A task's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The id that its asker knows it by.
    pub id: Uuid,
    /// Who may see it: an access key, or this user.
    pub asker: String,
    /// The tool that was called.
    pub tool: String,
    /// The server that works on it, or did.
    pub runner: Uuid,
    /// How far it is.
    pub status: Status,
    /// What there is to say about that.
    pub message: Option<String>,
    /// The result or the error, as JSON; there where it completed or failed.
    pub outcome: Option<String>,
    /// When it began.
    pub created_at: Millis,
    /// When its status changed last.
    pub updated_at: Millis,
    /// Until when it is kept.
    pub expires_at: Millis,
}

/// How a task ended.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Any status but working.
    pub status: Status,
    /// What there is to say about it.
    pub message: Option<&'a str>,
    /// The result or the error, as JSON; none where it was cancelled.
    pub outcome: Option<&'a str>,
    /// When.
    pub at: Millis,
    /// Until when it is kept.
    pub expires_at: Millis,
}

/// Inserts a task, and deletes those whose time is over; returns false where its asker has [`MAX_TASKS`].
///
/// # Errors
/// `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`.
pub fn insert(db: &Db<'_>, task: &Task) -> Result<bool> {
    db.connection
        .prepare_cached("DELETE FROM task WHERE expires_at < ?1 AND status <> 'working'")?
        .execute([task.created_at])?;
    let inserted = db
        .connection
        .prepare_cached(
            "INSERT INTO task (uuid, asker, tool, runner, status, message, outcome, created_at, updated_at, expires_at)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
              WHERE coalesce((SELECT sum(1) FROM (SELECT 1 FROM task WHERE asker = ?2 LIMIT ?11) AS mine), 0) < ?11",
        )?
        .execute(params![
            task.id.as_bytes(),
            task.asker,
            task.tool,
            task.runner.as_bytes(),
            task.status.word(),
            task.message,
            task.outcome,
            task.created_at,
            task.updated_at,
            task.expires_at,
            MAX_TASKS,
        ])?;
    Ok(inserted == 1)
}

/// Returns a task of `asker`; one of somebody else is as one that is not there, and so is one whose time is over.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn get(db: &Db<'_>, asker: &str, id: Uuid, now: Millis) -> Result<Option<Task>> {
    Ok(db
        .connection
        .prepare_cached(
            "SELECT uuid, asker, tool, runner, status, message, outcome, created_at, updated_at, expires_at
               FROM task WHERE uuid = ?1 AND asker = ?2 AND (expires_at >= ?3 OR status = 'working')",
        )?
        .query_row(params![id.as_bytes(), asker, now], task)
        .optional()?)
}

/// Returns the tasks that have not ended, as far as the table says.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn working(db: &Db<'_>) -> Result<Vec<Task>> {
    let mut statement = db.connection.prepare_cached(
        "SELECT uuid, asker, tool, runner, status, message, outcome, created_at, updated_at, expires_at
           FROM task WHERE status = 'working' ORDER BY created_at, uuid",
    )?;
    let rows = statement.query_map([], task)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Ends a task that is working; returns whether this did it.
///
/// # Errors
/// `E_DB_BUSY`, `E_DISK_FULL`, `E_STORAGE`.
pub fn end(db: &Db<'_>, id: Uuid, end: End<'_>) -> Result<bool> {
    let ended = db
        .connection
        .prepare_cached(
            "UPDATE task SET status = ?2, message = ?3, outcome = ?4, updated_at = ?5, expires_at = ?6
              WHERE uuid = ?1 AND status = 'working'",
        )?
        .execute(params![id.as_bytes(), end.status.word(), end.message, end.outcome, end.at, end.expires_at])?;
    Ok(ended == 1)
}

fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let status: String = row.get(4)?;
    Ok(Task {
        id: Uuid::from_bytes(row.get(0)?),
        asker: row.get(1)?,
        tool: row.get(2)?,
        runner: Uuid::from_bytes(row.get(3)?),
        status: Status::of(&status),
        message: row.get(5)?,
        outcome: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        expires_at: row.get(9)?,
    })
}
