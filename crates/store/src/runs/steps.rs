//! The steps of a run: their states and outputs.

use super::state::StepState;
use crate::engine::{Row, damaged, params, sql};
use crate::{Db, blobs};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The position of the step in the run, counted from 0.
    pub seq: i64,
    pub name: String,
    pub command: String,
    pub state: StepState,
    /// How many rounds of `repeat` were started.
    pub rounds: i64,
    /// The time until which new rounds may start.
    pub deadline_at: Option<Millis>,
    /// When the next round of `repeat` starts.
    pub next_at: Option<Millis>,
    /// The reason for the state, if there is one to report.
    pub reason: Option<String>,
    /// The key of the step's output.
    pub output: Option<i64>,
    /// The JSON pointers of the secrets that were removed from the output, as a JSON array.
    pub secrets: Option<String>,
    /// When the step's first attempt started.
    pub started_at: Option<Millis>,
    pub ended_at: Option<Millis>,
}

macro_rules! steps {
    () => {
        "SELECT seq, name, command, state, rounds, deadline_at, next_at, reason, blob_id, secrets, started_at, ended_at
           FROM run_step"
    };
}

/// Returns the steps of a run, in the order in which they run.
pub fn of(db: &Db<'_>, run: i64) -> Result<Vec<Step>> {
    db.all(sql!(steps!(), " WHERE run_id = ?1 ORDER BY seq"), params![run], from_row)
}

/// Records that a step is running. The first call sets its start.
pub fn begin(db: &Db<'_>, run: i64, seq: i64, rounds: i64, deadline_at: Option<Millis>, now: Millis) -> Result<()> {
    let sql = sql!(
        "UPDATE run_step SET state = 'running', rounds = ?3, deadline_at = ?4, next_at = NULL, reason = NULL,
                ended_at = NULL, started_at = coalesce(started_at, ?5)
          WHERE run_id = ?1 AND seq = ?2"
    );
    db.run(sql, params![run, seq, rounds, deadline_at, now]).map(drop)
}

/// Records that a step waits until `next_at` for the next round of its `repeat`.
pub fn wait(db: &Db<'_>, run: i64, seq: i64, next_at: Millis) -> Result<()> {
    let sql = sql!("UPDATE run_step SET state = 'waiting', next_at = ?3 WHERE run_id = ?1 AND seq = ?2");
    db.run(sql, params![run, seq, next_at]).map(drop)
}

/// Stores the output of a step, and a JSON array with the JSON pointers of the secrets that were removed from it.
pub fn keep_output(db: &Db<'_>, run: i64, seq: i64, output: &str, secrets: &str) -> Result<()> {
    let blob = blobs::put(db, output.as_bytes())?;
    let before = sql!("SELECT blob_id FROM run_step WHERE run_id = ?1 AND seq = ?2");
    let before: Option<i64> = db.single(before, params![run, seq], |row| row.get(0))?;
    let sql = sql!("UPDATE run_step SET blob_id = ?3, secrets = ?4 WHERE run_id = ?1 AND seq = ?2");
    db.run(sql, params![run, seq, blob, secrets])?;
    match before.filter(|before| *before != blob) {
        Some(before) => blobs::take_back(db, before),
        None => Ok(()),
    }
}

/// Returns the text of a step's output, if it has one.
pub fn output(db: &Db<'_>, step: &Step) -> Result<Option<String>> {
    let Some(output) = step.output else { return Ok(None) };
    String::from_utf8(blobs::get(db, output)?).map(Some).map_err(|_| damaged("the output of a step is not text"))
}

/// Stores the state of a step that no longer runs, and the reason: it ended, its outcome is unknown, or it will start
/// again.
pub fn end(db: &Db<'_>, run: i64, seq: i64, state: StepState, reason: Option<&str>, now: Millis) -> Result<()> {
    let ended = state.is_over().then_some(now);
    let sql = sql!(
        "UPDATE run_step SET state = ?3, reason = ?4, ended_at = ?5, next_at = NULL WHERE run_id = ?1 AND seq = ?2"
    );
    db.run(sql, params![run, seq, state.word(), reason, ended]).map(drop)
}

/// Makes a step that has ended start again, with the full time for its rounds.
pub fn retry(db: &Db<'_>, run: i64, seq: i64) -> Result<()> {
    let sql = sql!(
        "UPDATE run_step SET state = 'pending', reason = NULL, ended_at = NULL, next_at = NULL, deadline_at = NULL
          WHERE run_id = ?1 AND seq = ?2"
    );
    db.run(sql, params![run, seq]).map(drop)
}

/// Records that the run's unfinished steps are given up. A step whose outcome is unknown keeps that state.
pub fn give_up(db: &Db<'_>, run: i64, now: Millis) -> Result<()> {
    let sql = sql!(
        "UPDATE run_step SET state = 'canceled', ended_at = ?2, next_at = NULL
          WHERE run_id = ?1 AND state IN ('pending', 'running', 'waiting')"
    );
    db.run(sql, params![run, now]).map(drop)
}

fn from_row(row: &Row<'_>) -> Result<Step> {
    Ok(Step {
        seq: row.get(0)?,
        name: row.get(1)?,
        command: row.get(2)?,
        state: StepState::of(row.get(3)?)?,
        rounds: row.get(4)?,
        deadline_at: row.get(5)?,
        next_at: row.get(6)?,
        reason: row.get(7)?,
        output: row.get(8)?,
        secrets: row.get(9)?,
        started_at: row.get(10)?,
        ended_at: row.get(11)?,
    })
}
