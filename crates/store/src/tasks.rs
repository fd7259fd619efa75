//! Tasks: long tool calls that were answered immediately and continue in the background, and their outcomes.

use uuid::Uuid;

use super::Db;
use super::engine::{Row, params, sql};
use super::limits::{Growing, Limits};
use mcpkg_base::clock::{Millis, span};
use mcpkg_base::error::Result;

/// The limits of this table. By default, the outcome of a task is kept for an hour. `number` limits the unexpired and
/// running tasks of each asker.
pub const GROWING: Growing = Growing {
    name: "tasks",
    about: "long-running calls by agents, with their results, per caller; running calls are never deleted",
    usual: Limits { age: Some(3_600_000), number: Some(256) },
    beyond,
    delete,
};

/// The states of a task, in MCP's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A server is working on the task.
    Working,
    /// The task ended with a result, which may be the tool's own error.
    Completed,
    /// The task ended without a result.
    Failed,
    /// The asker cancelled the task.
    Cancelled,
}

impl Status {
    /// Returns the status's name, as the database stores it.
    const fn word(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Returns the status for `word`. The table allows only these four words.
    fn of(word: &str) -> Self {
        match word {
            "working" => Status::Working,
            "completed" => Status::Completed,
            "cancelled" => Status::Cancelled,
            _ => Status::Failed,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: Uuid,
    /// The asker: an access key, a person or program that signed in, or this user. Nobody else may see the task.
    pub asker: String,
    pub tool: String,
    /// The server process that works or worked on the task.
    pub runner: Uuid,
    pub status: Status,
    pub message: Option<String>,
    /// The result or the error, as JSON, if the task completed or failed.
    pub outcome: Option<String>,
    pub created_at: Millis,
    /// When the status last changed.
    pub updated_at: Millis,
    /// When the task is deleted; a running task stays.
    pub expires_at: Millis,
}

/// The outcome of a task.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Any status except for `Working`.
    pub status: Status,
    pub message: Option<&'a str>,
    /// The result or the error, as JSON; `None` if the task was cancelled.
    pub outcome: Option<&'a str>,
    pub at: Millis,
    /// When the task is deleted.
    pub expires_at: Millis,
}

/// The columns that [`task`] reads.
macro_rules! columns {
    () => {
        "uuid, asker, tool, runner, status, message, outcome, created_at, updated_at, expires_at"
    };
}

/// Selects the tasks beyond the limits: those that expired before `?1`, the current time, those that ended before `?2`,
/// and all but the newest `?3` of each asker. Running tasks are never among them.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, status, expires_at, updated_at,
                                row_number() OVER (PARTITION BY asker ORDER BY id DESC) AS place
                           FROM task) AS ranked
          WHERE status <> 'working' AND (expires_at < ?1 OR updated_at < ?2 OR place > ?3)"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![now, limits.before(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!("DELETE FROM task WHERE id IN (", beyond!(), " LIMIT ?4)");
    db.run(sql, params![now, limits.before(now), limits.most(), most])
}

/// Returns when to delete a task that starts or ends `now`.
pub fn kept_until(db: &Db<'_>, now: Millis) -> Result<Millis> {
    Ok(now.saturating_add(GROWING.limits(db)?.age.unwrap_or(span::LONGEST)))
}

/// Adds a task, and deletes expired ones that are not running. Returns false if the asker has too many tasks.
pub fn insert(db: &Db<'_>, task: &Task) -> Result<bool> {
    db.run(sql!("DELETE FROM task WHERE expires_at < ?1 AND status <> 'working'"), params![task.created_at])?;
    let most = GROWING.limits(db)?.most();
    let mut tasks = 0;
    db.each(sql!("SELECT 1 FROM task WHERE asker = ?1 LIMIT ?2"), params![task.asker, most], |_| {
        tasks += 1;
        Ok(())
    })?;
    if tasks >= most {
        return Ok(false);
    }
    let statement = sql!("INSERT INTO task (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    let status = task.status.word();
    let values = params![
        task.id,
        task.asker,
        task.tool,
        task.runner,
        status,
        task.message,
        task.outcome,
        task.created_at,
        task.updated_at,
        task.expires_at,
    ];
    Ok(db.run(statement, values)? == 1)
}

/// Returns a task of `asker`. Tasks of other askers count as missing, and so do expired tasks that are not running.
pub fn get(db: &Db<'_>, asker: &str, id: Uuid, now: Millis) -> Result<Option<Task>> {
    let statement = sql!(
        "SELECT ",
        columns!(),
        " FROM task WHERE uuid = ?1 AND asker = ?2 AND (expires_at >= ?3 OR status = 'working')"
    );
    db.one(statement, params![id, asker, now], task)
}

/// Returns the tasks that the table lists as working. The process of such a task may have ended.
pub fn working(db: &Db<'_>) -> Result<Vec<Task>> {
    let statement = sql!("SELECT ", columns!(), " FROM task WHERE status = 'working' ORDER BY created_at, uuid");
    db.all(statement, params![], task)
}

/// Ends a task that is working. Returns false if it had already ended.
pub fn end(db: &Db<'_>, id: Uuid, end: End<'_>) -> Result<bool> {
    let statement = sql!(
        "UPDATE task SET status = ?2, message = ?3, outcome = ?4, updated_at = ?5, expires_at = ?6
          WHERE uuid = ?1 AND status = 'working'"
    );
    let status = end.status.word();
    let values = params![id, status, end.message, end.outcome, end.at, end.expires_at];
    Ok(db.run(statement, values)? == 1)
}

fn task(row: &Row<'_>) -> Result<Task> {
    Ok(Task {
        id: row.get(0)?,
        asker: row.get(1)?,
        tool: row.get(2)?,
        runner: row.get(3)?,
        status: Status::of(row.get(4)?),
        message: row.get(5)?,
        outcome: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        expires_at: row.get(9)?,
    })
}
