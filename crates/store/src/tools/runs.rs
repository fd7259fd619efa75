//! Runs of tools, including refused ones: who ran which tool, when, and with which outcome. Inputs and outputs are not stored.

use uuid::Uuid;

use crate::Db;
use crate::engine::{Row, params, sql};
use crate::limits::{Growing, Limits};
use crate::page::{Page, Slice};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

pub const GROWING: Growing = Growing {
    name: "runs",
    about: "runs of tools, including refused ones",
    usual: Limits { age: Some(90 * 24 * 60 * 60 * 1000), number: Some(100_000) },
    beyond,
    delete,
};

/// A run that is starting, or that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    pub uuid: Uuid,
    /// The caller's name in the audit trail (`events`).
    pub actor: String,
    /// Who asked for the run: `user`, `key:NAME`, `person:NAME` or `program:NAME`.
    pub asker: String,
    pub tool: String,
    /// The version; `None` if the tool is a folder that was given by its path.
    pub version: Option<String>,
    pub action: String,
    pub sha256: Option<[u8; 32]>,
    pub input_hash: [u8; 32],
    /// The verdict on the archive: `verified`, `approved`, `unverified` or `refused`.
    pub verdict: String,
    pub started_at: Millis,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The runner; `None` if nothing was started.
    pub runner: Option<String>,
    /// `ok`, or the error code.
    pub outcome: String,
    /// The exit status, if the tool ended by itself.
    pub exit_code: Option<i64>,
    /// How many bytes the tool printed to standard output.
    pub stdout_size: i64,
    /// How many bytes the tool printed to standard error.
    pub stderr_size: i64,
    pub ended_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub begun: Begun,
    /// The outcome; `None` while the tool runs, or if the mcpkg that ran it was killed.
    pub ended: Option<Ended>,
}

macro_rules! runs {
    () => {
        "SELECT uuid, actor, asker, tool, version, action, sha256, input_hash, verdict, started_at, runner, outcome,
                exit_code, stdout_size, stderr_size, ended_at
           FROM tool_run"
    };
}

/// The runs beyond the limits: those that started before `?1`, and all but the newest `?2`.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, started_at, row_number() OVER (ORDER BY id DESC) AS place FROM tool_run) AS ranked
          WHERE started_at < ?1 OR place > ?2"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![limits.before(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!("DELETE FROM tool_run WHERE id IN (", beyond!(), " LIMIT ?3)");
    db.run(sql, params![limits.before(now), limits.most(), most])
}

/// Adds a run that is starting, or that was refused.
pub fn begin(db: &Db<'_>, run: &Begun) -> Result<()> {
    db.run(
        sql!(
            "INSERT INTO tool_run (uuid, actor, asker, tool, version, action, sha256, input_hash, verdict, started_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        ),
        params![
            run.uuid,
            run.actor,
            run.asker,
            run.tool,
            run.version,
            run.action,
            run.sha256,
            run.input_hash,
            run.verdict,
            run.started_at
        ],
    )
    .map(drop)
}

pub fn end(db: &Db<'_>, uuid: Uuid, ended: &Ended) -> Result<()> {
    db.run(
        sql!(
            "UPDATE tool_run SET runner = ?2, outcome = ?3, exit_code = ?4, stdout_size = ?5, stderr_size = ?6,
                    ended_at = ?7
              WHERE uuid = ?1"
        ),
        params![
            uuid,
            ended.runner,
            ended.outcome,
            ended.exit_code,
            ended.stdout_size,
            ended.stderr_size,
            ended.ended_at
        ],
    )
    .map(drop)
}

/// Returns a page of runs, the newest first, beginning after the run with the id `page.after`.
pub fn list(db: &Db<'_>, tool: Option<&str>, page: &Page) -> Result<Slice<Run>> {
    let after = Uuid::parse_str(&page.after).unwrap_or(Uuid::max());
    let found = match tool {
        Some(tool) => {
            let sql = sql!(runs!(), " WHERE uuid < ?1 AND tool = ?3 ORDER BY uuid DESC LIMIT ?2");
            db.all(sql, params![after, page.fetch(), tool], from_row)?
        }
        None => {
            let sql = sql!(runs!(), " WHERE uuid < ?1 ORDER BY uuid DESC LIMIT ?2");
            db.all(sql, params![after, page.fetch()], from_row)?
        }
    };
    Ok(page.slice(found))
}

pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<Run>> {
    db.one(sql!(runs!(), " WHERE uuid = ?1"), params![uuid], from_row)
}

/// Returns the ids of runs without an outcome: they are running, or the mcpkg that ran them was killed.
pub fn open(db: &Db<'_>) -> Result<Vec<Uuid>> {
    db.all(sql!("SELECT uuid FROM tool_run WHERE ended_at IS NULL ORDER BY id"), params![], |row| row.get(0))
}

fn from_row(row: &Row<'_>) -> Result<Run> {
    let begun = Begun {
        uuid: row.get(0)?,
        actor: row.get(1)?,
        asker: row.get(2)?,
        tool: row.get(3)?,
        version: row.get(4)?,
        action: row.get(5)?,
        sha256: row.get(6)?,
        input_hash: row.get(7)?,
        verdict: row.get(8)?,
        started_at: row.get(9)?,
    };
    let ended = match row.get::<Option<Millis>>(15)? {
        Some(ended_at) => Some(Ended {
            runner: row.get(10)?,
            outcome: row.get::<Option<String>>(11)?.unwrap_or_default(),
            exit_code: row.get(12)?,
            stdout_size: row.get::<Option<i64>>(13)?.unwrap_or(0),
            stderr_size: row.get::<Option<i64>>(14)?.unwrap_or(0),
            ended_at,
        }),
        None => None,
    };
    Ok(Run { begun, ended })
}
