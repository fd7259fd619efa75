//! Runs of flows: the steps that flows took in the repositories of workspaces, and the refs that they pushed.
//!
//! A row alone changes nothing: `workspace::journal` also checks the user's records outside of the database.

use serde_json::Value;
use uuid::Uuid;

use super::Db;
use super::engine::{Row, damaged, params, sql};
use super::limits::{Growing, Limits};
use super::page::{Page, Slice};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The limits of this table. Unfinished runs are never deleted.
pub const GROWING: Growing = Growing {
    name: "flow-runs",
    about: "flow runs, per workspace; unfinished runs are never deleted",
    usual: Limits { age: Some(365 * 24 * 60 * 60 * 1000), number: Some(10_000) },
    beyond,
    delete,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The steps are in progress. After a crash they are undone.
    Applying,
    /// All steps except the cleanup steps are done. After a crash the cleanup steps are completed.
    Landed,
    Done,
    /// Everything is as it was before the run.
    Undone,
    /// Like `Undone`, except for changes that somebody else made since the run, such as moved refs. mcpkg left these
    /// unchanged.
    Kept,
}

impl State {
    const ALL: [State; 5] = [State::Applying, State::Landed, State::Done, State::Undone, State::Kept];

    /// Returns the word that the table stores and users see for this state.
    pub const fn word(self) -> &'static str {
        match self {
            State::Applying => "applying",
            State::Landed => "landed",
            State::Done => "done",
            State::Undone => "undone",
            State::Kept => "kept",
        }
    }

    /// Whether the run has ended, successfully or not.
    pub const fn is_over(self) -> bool {
        matches!(self, State::Done | State::Undone | State::Kept)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRun {
    pub id: i64,
    pub uuid: Uuid,
    pub operation: String,
    /// The subject of the run, such as a branch.
    pub subject: String,
    pub state: State,
    /// The actor in the audit trail (`events`).
    pub actor: String,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
}

/// A run that is starting.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    pub uuid: Uuid,
    pub workspace: i64,
    pub operation: &'a str,
    pub subject: &'a str,
    pub actor: &'a str,
    pub now: Millis,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StepRow {
    pub repo: String,
    /// Whether this is a cleanup step, done after the run has landed.
    pub tidies: bool,
    /// The step itself, as JSON.
    pub step: Value,
}

macro_rules! runs {
    () => {
        "SELECT id, uuid, operation, subject, state, actor, started_at, ended_at FROM flow_run"
    };
}

/// The rows beyond the limits: `?1` is the time before which a run must have started, `?2` the number of runs that
/// stay in each workspace.
macro_rules! beyond {
    () => {
        "SELECT id FROM (SELECT id, started_at, state, row_number() OVER (PARTITION BY workspace_id ORDER BY id DESC) AS place
                           FROM flow_run) AS ranked
          WHERE (started_at < ?1 OR place > ?2) AND state IN ('done', 'undone', 'kept')"
    };
}

fn beyond(db: &Db<'_>, limits: Limits, now: Millis) -> Result<u64> {
    let sql = sql!("SELECT count(*) FROM (", beyond!(), ") AS beyond");
    db.single(sql, params![limits.before(now), limits.most()], |row| row.get(0))
}

fn delete(db: &Db<'_>, limits: Limits, now: Millis, most: u32) -> Result<u64> {
    let sql = sql!("DELETE FROM flow_run WHERE id IN (", beyond!(), " LIMIT ?3)");
    db.run(sql, params![limits.before(now), limits.most(), most])
}

/// Adds a run that is starting, with its steps in order. Returns its key.
pub fn begin(db: &Db<'_>, new: &New<'_>, steps: &[StepRow]) -> Result<i64> {
    let sql = sql!(
        "INSERT INTO flow_run (uuid, workspace_id, operation, subject, state, actor, started_at)
         VALUES (?1, ?2, ?3, ?4, 'applying', ?5, ?6) RETURNING id"
    );
    let values = params![new.uuid, new.workspace, new.operation, new.subject, new.actor, new.now];
    let id: i64 = db.single(sql, values, |row| row.get(0))?;
    for (seq, step) in steps.iter().enumerate() {
        let sql = sql!("INSERT INTO flow_step (run_id, seq, repo, tidies, step) VALUES (?1, ?2, ?3, ?4, ?5)");
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        db.run(sql, params![id, seq, step.repo, i64::from(step.tidies), step.step.to_string()])?;
    }
    Ok(id)
}

/// Stores the state of a run. If the run is over, `now` becomes the time of its end.
pub fn set_state(db: &Db<'_>, id: i64, state: State, now: Millis) -> Result<()> {
    let ended = state.is_over().then_some(now);
    db.run(sql!("UPDATE flow_run SET state = ?2, ended_at = ?3 WHERE id = ?1"), params![id, state.word(), ended])
        .map(drop)
}

pub fn get(db: &Db<'_>, uuid: Uuid) -> Result<Option<FlowRun>> {
    db.one(sql!(runs!(), " WHERE uuid = ?1"), params![uuid], from_row)
}

/// Returns a page of a workspace's runs, the newest first, beginning after the run with the id `page.after`.
pub fn list(db: &Db<'_>, workspace: i64, page: &Page) -> Result<Slice<FlowRun>> {
    let after = Uuid::parse_str(&page.after).unwrap_or(Uuid::max());
    let sql = sql!(runs!(), " WHERE workspace_id = ?1 AND uuid < ?2 ORDER BY uuid DESC LIMIT ?3");
    Ok(page.slice(db.all(sql, params![workspace, after, page.fetch()], from_row)?))
}

/// Returns the newest run of a workspace that did `operation` to `subject` and was not undone.
pub fn newest_of(db: &Db<'_>, workspace: i64, operation: &str, subject: &str) -> Result<Option<FlowRun>> {
    let sql = sql!(
        runs!(),
        " WHERE workspace_id = ?1 AND operation = ?2 AND subject = ?3 AND state IN ('landed', 'done')
          ORDER BY id DESC LIMIT 1"
    );
    db.one(sql, params![workspace, operation, subject], from_row)
}

/// Returns the newest run of a workspace that was not undone, and is neither an undo nor a redo itself.
pub fn newest(db: &Db<'_>, workspace: i64) -> Result<Option<FlowRun>> {
    let sql = sql!(
        runs!(),
        " WHERE workspace_id = ?1 AND state IN ('landed', 'done') AND operation NOT IN ('undo', 'redo')
          ORDER BY id DESC LIMIT 1"
    );
    db.one(sql, params![workspace], from_row)
}

/// Returns the run that the run `undo` undid. The subject of `undo` names the operation and the subject of that run. Of
/// several undone runs with this name, returns the newest one before `undo`.
pub fn taken_back(db: &Db<'_>, workspace: i64, undo: &FlowRun) -> Result<Option<FlowRun>> {
    let sql = sql!(
        runs!(),
        " WHERE workspace_id = ?1 AND id < ?2 AND operation || ' ' || subject = ?3 AND state = 'undone'
          ORDER BY id DESC LIMIT 1"
    );
    db.one(sql, params![workspace, undo.id, undo.subject], from_row)
}

/// Returns the first two runs of a workspace whose ids are in the range from `first` to `last`, inclusive.
pub fn between(db: &Db<'_>, workspace: i64, first: Uuid, last: Uuid) -> Result<Vec<FlowRun>> {
    let sql = sql!(runs!(), " WHERE workspace_id = ?1 AND uuid >= ?2 AND uuid <= ?3 ORDER BY uuid LIMIT 2");
    db.all(sql, params![workspace, first, last], from_row)
}

pub fn steps(db: &Db<'_>, id: i64) -> Result<Vec<StepRow>> {
    db.all(sql!("SELECT repo, tidies, step FROM flow_step WHERE run_id = ?1 ORDER BY seq"), params![id], |row| {
        let step: String = row.get(2)?;
        let step = serde_json::from_str(&step).map_err(|_| damaged("A step of a flow's run is not valid JSON"))?;
        Ok(StepRow { repo: row.get(0)?, tidies: row.get::<i64>(1)? != 0, step })
    })
}

/// Records that a ref was pushed. `new_id` is `None` if the push deleted the ref on the remote.
pub fn note_push(db: &Db<'_>, id: i64, repo: &str, ref_name: &str, new_id: Option<&str>, now: Millis) -> Result<()> {
    let sql = sql!(
        "INSERT INTO flow_push (run_id, repo, ref_name, new_id, pushed_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (run_id, repo, ref_name) DO UPDATE SET new_id = excluded.new_id, pushed_at = excluded.pushed_at"
    );
    db.run(sql, params![id, repo, ref_name, new_id, now]).map(drop)
}

/// Returns what was pushed in a run: the repository, the ref's name, and the ref's new id (`None` if it was deleted).
pub fn pushes(db: &Db<'_>, id: i64) -> Result<Vec<(String, String, Option<String>)>> {
    let sql = sql!("SELECT repo, ref_name, new_id FROM flow_push WHERE run_id = ?1 ORDER BY repo, ref_name");
    db.all(sql, params![id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn from_row(row: &Row<'_>) -> Result<FlowRun> {
    let word: String = row.get(4)?;
    let state = State::ALL.into_iter().find(|state| state.word() == word);
    Ok(FlowRun {
        id: row.get(0)?,
        uuid: row.get(1)?,
        operation: row.get(2)?,
        subject: row.get(3)?,
        state: state.ok_or_else(|| damaged("A flow's run has an invalid state"))?,
        actor: row.get(5)?,
        started_at: row.get(6)?,
        ended_at: row.get(7)?,
    })
}
