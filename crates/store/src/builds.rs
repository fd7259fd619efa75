//! Builds of workspaces: the commands that were run, their results and their output.

use uuid::Uuid;

use super::engine::{Row as Found, params, sql};
use super::limits::{Growing, Limits, SWEEP};
use super::page::{Page, Slice};
use super::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

pub const GROWING: Growing = Growing {
    name: "builds",
    about: "builds, per workspace; running builds are never deleted",
    usual: Limits { age: None, number: Some(50) },
    beyond,
    delete,
};

/// How long a build without an end time counts as running. After that, mcpkg assumes that its process was killed.
const LONGEST: Millis = 24 * 60 * 60 * 1_000;

/// A build that is starting.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    pub uuid: Uuid,
    pub workspace: i64,
    /// The actor in the audit trail (`events`).
    pub actor: &'a str,
    pub options: &'a str,
    pub started_at: Millis,
}

/// The result of a build.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub uuid: Uuid,
    /// Whether every command was run and succeeded.
    pub all_passed: bool,
    pub ended_at: Millis,
    pub rows: &'a [Row],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub repo: String,
    /// `clean`, `build` or `test`.
    pub step: String,
    /// Whether the command ran and succeeded.
    pub success: bool,
    /// Whether the command was skipped because another command failed.
    pub skipped: bool,
    /// The exit status, if the command ended by itself.
    pub exit_code: Option<i64>,
    pub duration_ms: i64,
    /// The beginning and the end of the command's output.
    pub output: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub uuid: Uuid,
    /// The actor in the audit trail (`events`).
    pub actor: String,
    pub options: String,
    /// Whether every command was run and succeeded. `None` while the build runs, or if its process was killed.
    pub all_passed: Option<bool>,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
}

/// The last build of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    pub repo: String,
    pub run: Uuid,
    /// Whether every command that the build ran in this repository succeeded.
    pub success: bool,
    pub ended_at: Millis,
}

/// The builds to delete: those that started before `?1`, and those beyond the newest `?2` of their workspace. A build
/// without an end time that started at `?3` or later is still running, and stays.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, started_at, ended_at,
                                row_number() OVER (PARTITION BY workspace_id ORDER BY id DESC) AS place
                           FROM build_run) AS ranked
          WHERE (started_at < ?1 OR place > ?2) AND (ended_at IS NOT NULL OR started_at < ?3)"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![limits.before(now), limits.most(), now.saturating_sub(LONGEST)], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!(beyond!(), " ORDER BY id LIMIT ?4");
    let running_since = now.saturating_sub(LONGEST);
    let runs: Vec<i64> =
        db.all(sql, params![limits.before(now), limits.most(), running_since, most], |row| row.get(0))?;
    for run in &runs {
        let sql = sql!("SELECT DISTINCT blob_id FROM build_row WHERE run_id = ?1 AND blob_id IS NOT NULL");
        let outputs: Vec<i64> = db.all(sql, params![run], |row| row.get(0))?;
        db.run(sql!("DELETE FROM build_run WHERE id = ?1"), params![run])?;
        outputs.iter().try_for_each(|output| blobs::take_back(db, *output))?;
    }
    Ok(runs.len() as u64)
}

/// Adds a build that is starting.
pub fn begin(db: &Db<'_>, begun: &Begun<'_>) -> Result<()> {
    let Begun { uuid, workspace, actor, options, started_at } = begun;
    db.run(
        sql!("INSERT INTO build_run (uuid, workspace_id, actor, options, started_at) VALUES (?1, ?2, ?3, ?4, ?5)"),
        params![uuid, workspace, actor, options, started_at],
    )
    .map(drop)
}

/// Stores the result of a build, and deletes builds beyond the limits.
pub fn end(db: &Db<'_>, ended: &Ended<'_>) -> Result<()> {
    let sql = sql!("UPDATE build_run SET all_passed = ?2, ended_at = ?3 WHERE uuid = ?1 RETURNING id");
    let Some(run) = db.one(sql, params![ended.uuid, ended.all_passed, ended.ended_at], |row| row.get::<i64>(0))? else {
        // The workspace was removed while the build ran, and the build's row with it.
        return Ok(());
    };
    for (seq, row) in (1_i64..).zip(ended.rows) {
        let output = match row.output.is_empty() {
            true => None,
            false => Some(blobs::put(db, row.output.as_bytes())?),
        };
        db.run(
            sql!(
                "INSERT INTO build_row (run_id, seq, repo, step, success, skipped, exit_code, duration_ms, blob_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
            ),
            params![run, seq, row.repo, row.step, row.success, row.skipped, row.exit_code, row.duration_ms, output],
        )?;
    }
    delete(db, GROWING.limits(db)?, ended.ended_at, SWEEP).map(drop)
}

macro_rules! runs {
    () => {
        "SELECT uuid, actor, options, all_passed, started_at, ended_at FROM build_run"
    };
}

/// Returns a page of the builds of a workspace, the newest first, beginning after the build with the id `page.after`.
pub fn list(db: &Db<'_>, workspace: i64, page: &Page) -> Result<Slice<Run>> {
    let after = Uuid::parse_str(&page.after).unwrap_or(Uuid::max());
    let sql = sql!(runs!(), " WHERE workspace_id = ?1 AND uuid < ?2 ORDER BY uuid DESC LIMIT ?3");
    Ok(page.slice(db.all(sql, params![workspace, after, page.fetch()], run)?))
}

/// Returns the newest builds of all workspaces.
pub fn newest(db: &Db<'_>, limit: usize) -> Result<Vec<Run>> {
    let page = Page::first(limit);
    Ok(page.slice(db.all(sql!(runs!(), " ORDER BY uuid DESC LIMIT ?1"), params![page.fetch()], run)?).rows)
}

/// Returns the commands of a build in order, with their output.
pub fn rows(db: &Db<'_>, uuid: Uuid) -> Result<Vec<Row>> {
    let sql = sql!(
        "SELECT repo, step, success, skipped, exit_code, duration_ms, blob_id FROM build_row
          WHERE run_id = (SELECT id FROM build_run WHERE uuid = ?1) ORDER BY seq"
    );
    let found = db.all(sql, params![uuid], |row| {
        let output = String::new();
        let (repo, step, success, skipped) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let (exit_code, duration_ms) = (row.get(4)?, row.get(5)?);
        Ok((Row { repo, step, success, skipped, exit_code, duration_ms, output }, row.get::<Option<i64>>(6)?))
    })?;
    let with_output = |(row, output): (Row, Option<i64>)| {
        let output = output.map(|output| blobs::show(db, output)).transpose()?.unwrap_or_default();
        Ok(Row { output: String::from_utf8_lossy(&output).into_owned(), ..row })
    };
    found.into_iter().map(with_output).collect()
}

/// Returns the last finished build of each repository in a workspace, ordered by repository. A build counts only for
/// the repositories in which it ran a command.
pub fn last(db: &Db<'_>, workspace: i64) -> Result<Vec<Last>> {
    let sql = sql!(
        "SELECT repo, uuid, success, ended_at
           FROM (SELECT r.repo AS repo, b.uuid AS uuid, min(r.success) AS success, b.ended_at AS ended_at,
                        row_number() OVER (PARTITION BY r.repo ORDER BY b.id DESC) AS place
                   FROM build_row AS r JOIN build_run AS b ON b.id = r.run_id
                  WHERE b.workspace_id = ?1 AND b.ended_at IS NOT NULL AND r.skipped = 0
                  GROUP BY r.repo, b.id, b.uuid, b.ended_at) AS newest
          WHERE place = 1 ORDER BY repo"
    );
    db.all(sql, params![workspace], |row| {
        Ok(Last { repo: row.get(0)?, run: row.get(1)?, success: row.get(2)?, ended_at: row.get(3)? })
    })
}

fn run(row: &Found<'_>) -> Result<Run> {
    Ok(Run {
        uuid: row.get(0)?,
        actor: row.get(1)?,
        options: row.get(2)?,
        all_passed: row.get(3)?,
        started_at: row.get(4)?,
        ended_at: row.get(5)?,
    })
}
