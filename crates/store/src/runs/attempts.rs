//! The attempts at the steps of a run. Each is recorded before its request is sent, and its outcome afterwards.

use crate::Db;
use crate::engine::{Row, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// An attempt that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The place of its step.
    pub seq: i64,
    /// Its number among those of its step, from 1 on.
    pub number: i64,
    /// The round of `repeat` that it belongs to, from 1 on.
    pub round: i64,
    /// The idempotency key that is sent along.
    pub key: Option<String>,
    /// The person or program that runs it, as named in the trail.
    pub actor: String,
    /// The id of the command.
    pub command: String,
    /// The method. HTTP only.
    pub method: Option<String>,
    /// The host. HTTP only.
    pub host: Option<String>,
    /// The path with its placeholders. HTTP only.
    pub path: Option<String>,
    /// The arguments as JSON, redacted.
    pub arguments: String,
    pub started_at: Millis,
}

/// The outcome of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// `ok`, or the code of the failure.
    pub outcome: String,
    /// The status of the answer. HTTP only.
    pub status: Option<i64>,
    /// Bytes of the answer.
    pub bytes: Option<i64>,
    /// The SHA-256 of the answer.
    pub sha256: Option<[u8; 32]>,
    /// The beginning of the answer, redacted.
    pub excerpt: Option<String>,
    /// A message about it.
    pub reason: Option<String>,
    pub ended_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub begun: Begun,
    /// Its outcome; `None` while it runs, or if its process was killed.
    pub ended: Option<Ended>,
}

macro_rules! attempts {
    () => {
        "SELECT seq, number, round, key, actor, command, method, host, path, arguments, started_at, ended_at, outcome,
                status, bytes, sha256, excerpt, reason
           FROM run_attempt"
    };
}

/// Adds an attempt that begins.
pub fn begin(db: &Db<'_>, run: i64, begun: &Begun) -> Result<()> {
    let Begun { seq, number, round, key, actor, command, method, host, path, arguments, started_at } = begun;
    let sql = sql!(
        "INSERT INTO run_attempt (run_id, seq, number, round, key, actor, command, method, host, path, arguments,
                                  started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    let values = params![run, seq, number, round, key, actor, command, method, host, path, arguments, started_at];
    db.run(sql, values).map(drop)
}

/// Records the outcome of an attempt.
pub fn end(db: &Db<'_>, run: i64, seq: i64, number: i64, ended: &Ended) -> Result<()> {
    let Ended { outcome, status, bytes, sha256, excerpt, reason, ended_at } = ended;
    let sql = sql!(
        "UPDATE run_attempt SET outcome = ?4, status = ?5, bytes = ?6, sha256 = ?7, excerpt = ?8, reason = ?9,
                ended_at = ?10
          WHERE run_id = ?1 AND seq = ?2 AND number = ?3"
    );
    let values = params![run, seq, number, outcome, status, bytes, sha256, excerpt, reason, ended_at];
    db.run(sql, values).map(drop)
}

/// Returns the attempts of a run, by step and number.
pub fn of(db: &Db<'_>, run: i64) -> Result<Vec<Attempt>> {
    db.all(sql!(attempts!(), " WHERE run_id = ?1 ORDER BY seq, number"), params![run], from_row)
}

/// Returns the last attempt at a step, where there was one.
pub fn last(db: &Db<'_>, run: i64, seq: i64) -> Result<Option<Attempt>> {
    let sql = sql!(attempts!(), " WHERE run_id = ?1 AND seq = ?2 ORDER BY number DESC LIMIT 1");
    db.one(sql, params![run, seq], from_row)
}

fn from_row(row: &Row<'_>) -> Result<Attempt> {
    let begun = Begun {
        seq: row.get(0)?,
        number: row.get(1)?,
        round: row.get(2)?,
        key: row.get(3)?,
        actor: row.get(4)?,
        command: row.get(5)?,
        method: row.get(6)?,
        host: row.get(7)?,
        path: row.get(8)?,
        arguments: row.get(9)?,
        started_at: row.get(10)?,
    };
    let ended = match row.get::<Option<Millis>>(11)? {
        Some(ended_at) => Some(Ended {
            outcome: row.get::<Option<String>>(12)?.unwrap_or_default(),
            status: row.get(13)?,
            bytes: row.get(14)?,
            sha256: row.get(15)?,
            excerpt: row.get(16)?,
            reason: row.get(17)?,
            ended_at,
        }),
        None => None,
    };
    Ok(Attempt { begun, ended })
}
