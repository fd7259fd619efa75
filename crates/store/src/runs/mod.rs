//! Runs of commands and of workflows: their requests, progress and outcomes.
//!
//! The process that carries out a run holds the run's lock ([`super::Store::hold_run`]). A row alone does not show
//! whether there is such a process.

pub mod attempts;
pub mod steps;

mod state;

use uuid::Uuid;

use super::engine::{Row, damaged, params, sql};
use super::limits::{Growing, Limits, SWEEP};
use super::names::plain;
use super::page::{Page, Slice};
use super::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

pub use state::{Kind, State, StepState, Wanted};

pub const GROWING: Growing = Growing {
    name: "workflow-runs",
    about: "runs of workflows and commands, with every attempt; unfinished runs are never deleted",
    usual: Limits { age: Some(90 * 24 * 60 * 60 * 1000), number: Some(10_000) },
    beyond,
    delete,
};

/// A run that is starting.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub uuid: Uuid,
    /// The key of the run's project, if it has one.
    pub project: Option<i64>,
    pub kind: Kind,
    /// The id of the command, or the name of the workflow.
    pub name: &'a str,
    /// The plan, as JSON.
    pub definition: &'a str,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: &'a str,
    /// The inputs as JSON, with secrets as references.
    pub inputs: &'a str,
    /// The asker: `user`, `key:NAME`, `person:NAME` or `program:NAME`.
    pub asker: &'a str,
    /// The actor in the audit trail (`events`).
    pub actor: &'a str,
    pub now: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: i64,
    pub uuid: Uuid,
    pub project: Option<i64>,
    pub kind: Kind,
    /// The id of the command, or the name of the workflow.
    pub name: String,
    /// The key of the stored text of the run's plan.
    pub definition: i64,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: String,
    /// The inputs as JSON, with secrets as references.
    pub inputs: String,
    /// The state that the run's process stored last. The process may have been killed since.
    pub state: State,
    /// A request to pause or cancel that the run has not fulfilled yet.
    pub wanted: Option<Wanted>,
    pub asker: String,
    /// The actor in the audit trail (`events`).
    pub actor: String,
    /// The reason for the state, if there is one to report.
    pub reason: Option<String>,
    pub output: Option<i64>,
    pub created_at: Millis,
    pub ended_at: Option<Millis>,
}

/// The number of new runs after which the table is pruned again.
const LOOK: i64 = 100;

macro_rules! runs {
    () => {
        "SELECT id, uuid, project_id, kind, name, blob_id, plan_hash, inputs, state, wanted, asker, actor, reason,
                output_blob, created_at, ended_at
           FROM run"
    };
}

/// The rows beyond the limits: `?1` is the time before which a run must have ended, `?2` the number of runs that a
/// project keeps.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, ended_at, row_number() OVER (PARTITION BY project_id ORDER BY id DESC) AS place
                           FROM run) AS ranked
          WHERE ended_at IS NOT NULL AND (ended_at < ?1 OR place > ?2)"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![limits.before(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!(beyond!(), " ORDER BY id LIMIT ?3");
    let runs: Vec<i64> = db.all(sql, params![limits.before(now), limits.most(), most], |row| row.get(0))?;
    for run in &runs {
        let sql = sql!(
            "SELECT blob_id FROM run WHERE id = ?1 UNION SELECT output_blob FROM run WHERE id = ?1
              UNION SELECT blob_id FROM run_step WHERE run_id = ?1"
        );
        let contents: Vec<Option<i64>> = db.all(sql, params![run], |row| row.get(0))?;
        db.run(sql!("DELETE FROM run WHERE id = ?1"), params![run])?;
        contents.into_iter().flatten().try_for_each(|content| blobs::take_back(db, content))?;
    }
    Ok(runs.len() as u64)
}

/// Adds a run and its steps, and returns the run's key. Each step has a name and a command, and the steps are in the
/// order in which they run. The caller must hold the run's lock. Every hundredth run, the table is pruned.
pub fn begin(db: &Db<'_>, new: &New<'_>, steps: &[(&str, &str)]) -> Result<i64> {
    let definition = blobs::put(db, new.definition.as_bytes())?;
    let sql = sql!(
        "INSERT INTO run (uuid, project_id, kind, name, blob_id, plan_hash, inputs, state, asker, actor, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'running', ?8, ?9, ?10) RETURNING id"
    );
    let run = db.insert(
        sql,
        params![
            new.uuid,
            new.project,
            new.kind.word(),
            new.name,
            definition,
            new.plan_hash,
            new.inputs,
            new.asker,
            plain(new.actor),
            new.now
        ],
    )?;
    for (seq, (name, command)) in (0_i64..).zip(steps) {
        let sql = sql!(
            "INSERT INTO run_step (run_id, seq, name, command, state, rounds) VALUES (?1, ?2, ?3, ?4, 'pending', 0)"
        );
        db.run(sql, params![run, seq, name, command])?;
    }
    // Prune only at every hundredth run, because finding the rows to delete means reading all runs.
    if run % LOOK == 0 {
        delete(db, GROWING.limits(db)?, new.now, SWEEP)?;
    }
    Ok(run)
}

pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<Run>> {
    db.one(sql!(runs!(), " WHERE uuid = ?1"), params![uuid], from_row)
}

/// Whether a row still describes the same run of this database: the run was not deleted, and no backup was restored
/// over it.
pub fn stands(db: &Db<'_>, run: i64, uuid: Uuid, generation: &str) -> Result<bool> {
    let sql = sql!(
        "SELECT 1 FROM run JOIN setting ON setting.key = 'generation' AND setting.value = ?3
          WHERE run.id = ?1 AND run.uuid = ?2"
    );
    Ok(db.one(sql, params![run, uuid, generation], |_| Ok(()))?.is_some())
}

/// Returns a page of the runs of a project, or of those without a project, the newest first, beginning after the run with the
/// id `page.after`.
pub fn list(db: &Db<'_>, project: Option<i64>, page: &Page) -> Result<Slice<Run>> {
    let before = Uuid::parse_str(&page.after).unwrap_or(Uuid::max());
    let found = match project {
        Some(project) => {
            let sql = sql!(runs!(), " WHERE project_id = ?1 AND uuid < ?2 ORDER BY uuid DESC LIMIT ?3");
            db.all(sql, params![project, before, page.fetch()], from_row)?
        }
        None => {
            let sql = sql!(runs!(), " WHERE project_id IS NULL AND uuid < ?1 ORDER BY uuid DESC LIMIT ?2");
            db.all(sql, params![before, page.fetch()], from_row)?
        }
    };
    Ok(page.slice(found))
}

/// Returns the last run of a workflow in a project that succeeded, if any.
pub fn last_succeeded(db: &Db<'_>, project: i64, workflow: &str) -> Result<Option<Run>> {
    let sql = sql!(
        runs!(),
        " WHERE project_id = ?1 AND kind = 'workflow' AND name = ?2 AND state = 'succeeded' ORDER BY uuid DESC LIMIT 1"
    );
    db.one(sql, params![project, workflow], from_row)
}

/// Returns the name of a run's project, if it has one.
pub fn project_name(db: &Db<'_>, run: &Run) -> Result<Option<String>> {
    let Some(project) = run.project else { return Ok(None) };
    db.one(sql!("SELECT name FROM project WHERE id = ?1"), params![project], |row| row.get(0))
}

/// Returns the text of a run's plan.
pub fn definition(db: &Db<'_>, run: &Run) -> Result<String> {
    text(blobs::get(db, run.definition)?)
}

/// Returns the text of a run's final output, if it has one.
pub fn output(db: &Db<'_>, run: &Run) -> Result<Option<String>> {
    run.output.map(|output| blobs::show(db, output).and_then(text)).transpose()
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| damaged("the stored definition or output of a run is not text"))
}

/// Stores the state of a run and the reason for it. Any request to the run counts as fulfilled.
pub fn set_state(db: &Db<'_>, id: i64, state: State, reason: Option<&str>, now: Millis) -> Result<()> {
    let ended = state.is_over().then_some(now);
    let sql = sql!("UPDATE run SET state = ?2, reason = ?3, ended_at = ?4, wanted = NULL WHERE id = ?1");
    db.run(sql, params![id, state.word(), reason, ended]).map(drop)
}

/// Records whether a running run waits. A request to pause or cancel stays open.
pub fn set_waiting(db: &Db<'_>, id: i64, waits: bool) -> Result<()> {
    let state = if waits { State::Waiting } else { State::Running };
    let sql = sql!("UPDATE run SET state = ?2 WHERE id = ?1 AND state IN ('running', 'waiting')");
    db.run(sql, params![id, state.word()]).map(drop)
}

/// Records that a person accepted another plan for the rest of a run.
pub fn set_plan_hash(db: &Db<'_>, id: i64, plan_hash: &str) -> Result<()> {
    db.run(sql!("UPDATE run SET plan_hash = ?2 WHERE id = ?1"), params![id, plan_hash]).map(drop)
}

/// Stores the final output of a run.
pub fn set_output(db: &Db<'_>, id: i64, output: &str) -> Result<()> {
    let blob = blobs::put(db, output.as_bytes())?;
    db.run(sql!("UPDATE run SET output_blob = ?2 WHERE id = ?1"), params![id, blob]).map(drop)
}

/// Asks a run that has not ended to pause or to cancel. A request to pause does not replace an open request; a
/// request to cancel does. Returns whether the request was recorded.
pub fn want(db: &Db<'_>, id: i64, wanted: Wanted) -> Result<bool> {
    let changed = match wanted {
        Wanted::Pause => {
            let sql = sql!("UPDATE run SET wanted = 'pause' WHERE id = ?1 AND ended_at IS NULL AND wanted IS NULL");
            db.run(sql, params![id])?
        }
        Wanted::Cancel => {
            let sql =
                sql!("UPDATE run SET wanted = 'cancel', state = 'cancel_requested' WHERE id = ?1 AND ended_at IS NULL");
            db.run(sql, params![id])?
        }
    };
    Ok(changed == 1)
}

/// Returns the open request to a run, if there is one.
pub fn wanted(db: &Db<'_>, id: i64) -> Result<Option<Wanted>> {
    let sql = sql!("SELECT wanted FROM run WHERE id = ?1");
    let wanted = db.one(sql, params![id], |row| row.get::<Option<&str>>(0)?.map(Wanted::of).transpose())?;
    Ok(wanted.flatten())
}

fn from_row(row: &Row<'_>) -> Result<Run> {
    Ok(Run {
        id: row.get(0)?,
        uuid: row.get(1)?,
        project: row.get(2)?,
        kind: Kind::of(row.get(3)?)?,
        name: row.get(4)?,
        definition: row.get(5)?,
        plan_hash: row.get(6)?,
        inputs: row.get(7)?,
        state: State::of(row.get(8)?)?,
        wanted: row.get::<Option<&str>>(9)?.map(Wanted::of).transpose()?,
        asker: row.get(10)?,
        actor: row.get(11)?,
        reason: row.get(12)?,
        output: row.get(13)?,
        created_at: row.get(14)?,
        ended_at: row.get(15)?,
    })
}
