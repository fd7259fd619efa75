//! The attempts at the steps of a run. Each is recorded before its request is sent, and its outcome afterwards.

use crate::Db;
use crate::engine::{Row, params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// An attempt that is starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The position of the attempt's step in the run.
    pub seq: i64,
    /// The number of the attempt among those at the same step, counted from 1.
    pub number: i64,
    /// The round of the step's `repeat` that the attempt belongs to, counted from 1.
    pub round: i64,
    /// The idempotency key that is sent with the request.
    pub key: Option<String>,
    /// The actor in the audit trail (`events`).
    pub actor: String,
    pub command: String,
    /// The method; `None` if the command does not use HTTP.
    pub method: Option<String>,
    /// The host; `None` if the command does not use HTTP.
    pub host: Option<String>,
    /// The path with its placeholders; `None` if the command does not use HTTP.
    pub path: Option<String>,
    /// The arguments as JSON, redacted.
    pub arguments: String,
    pub started_at: Millis,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// `ok`, or the error code.
    pub outcome: String,
    /// The status of the answer; `None` if there was none, or if the command does not use HTTP.
    pub status: Option<i64>,
    /// The size of the answer in bytes.
    pub bytes: Option<i64>,
    pub sha256: Option<[u8; 32]>,
    /// The beginning of the answer, redacted.
    pub excerpt: Option<String>,
    /// A message that explains the outcome.
    pub reason: Option<String>,
    pub ended_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub begun: Begun,
    /// The outcome; `None` while the attempt runs, or if its process was killed.
    pub ended: Option<Ended>,
}

macro_rules! attempts {
    () => {
        "SELECT seq, number, round, key, actor, command, method, host, path, arguments, started_at, ended_at, outcome,
                status, bytes, sha256, excerpt, reason
           FROM run_attempt"
    };
}

/// Adds an attempt that is starting.
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

/// Returns the attempts of a run, ordered by step and number.
pub fn of(db: &Db<'_>, run: i64) -> Result<Vec<Attempt>> {
    db.all(sql!(attempts!(), " WHERE run_id = ?1 ORDER BY seq, number"), params![run], from_row)
}

/// Returns the last attempt at a step, if any.
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
