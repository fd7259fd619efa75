//! Resumes, pauses and cancels runs. When a run resumes, an interrupted step is repeated if its command allows that;
//! otherwise a person decides.

use serde_json::{Value, json};
use uuid::Uuid;

use super::attempt::{LOST, may_repeat};
use super::program::Program;
use super::report;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Identity};
use mcpkg_store::blobs::stored_json;
use mcpkg_store::runs::attempts::{self, Ended};
use mcpkg_store::runs::steps::Step;
use mcpkg_store::runs::{self, Kind, Run, State, StepState, steps};
use mcpkg_store::watch;
use mcpkg_store::{Db, RunHolder};

/// A person's decision about a step with an unknown outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Run the step again.
    Retry,
    /// Skip the step, and the steps that depend on it.
    Skip,
    /// The step took effect, and this is its output.
    Done(Value),
}

/// The steps of a failed run to retry.
#[derive(Clone, Debug, PartialEq)]
pub enum Retry {
    /// All failed steps.
    Failed,
    /// The named step, and the failed steps after it.
    From(String),
}

/// A run that can be resumed, with its lock.
#[derive(Debug)]
pub struct Resumable {
    pub run: Run,
    /// The definition that the run's program was built from.
    pub definition: Value,
    /// The generation of the database, which changes when a backup is restored.
    pub generation: String,
    /// The lock on the run.
    pub holder: RunHolder,
}

/// Locks a run so that it can be resumed. Without `retries`, the run must have stopped before its end; with `retries`, it
/// must have failed.
///
/// # Errors
/// `E_RUN_BUSY` if another process is carrying out the run; `E_NOT_FOUND` if the run has been deleted; `E_RUN_STATE` if the
/// run's state does not allow a resume, or if a run of a single command is to be retried.
pub fn take(context: &Context, run: &Run, retries: bool) -> Result<Resumable> {
    let holder = context.store.hold_run(run.uuid)?.ok_or_else(|| busy(context, run.uuid))?;
    // Read the run again under the lock, because the last holder may have ended it.
    let found = context.store.read(|db| {
        let Some(run) = runs::get(db, run.uuid)? else { return Ok(None) };
        let definition = runs::definition(db, &run)?;
        Ok(Some((run, definition, watch::generation(db)?)))
    })?;
    let (run, definition, generation) = found.ok_or_else(|| missing(&run.uuid.to_string()))?;
    if retries && run.kind == Kind::Command {
        let why = format!("Run {} cannot be retried because it ran a single command; run that command again", run.uuid);
        return Err(wrong_state(&run, run.state, why));
    }
    match (run.state, retries) {
        (State::Failed, true) => {}
        (State::Failed, false) if context.is_shell() => {
            return Err(
                over(&run).hint(format!("`mcpkg workflow resume {} --retry` retries the failed steps", run.uuid))
            );
        }
        (state, _) if state.is_over() => return Err(over(&run)),
        (State::Uncertain, true) => {
            let why = format!("Run {} has not failed: the outcome of a step is unknown", run.uuid);
            return Err(wrong_state(&run, run.state, why));
        }
        (_, true) => {
            let why =
                format!("Run {} has not failed; continue the run with `mcpkg workflow resume {}`", run.uuid, run.uuid);
            return Err(wrong_state(&run, run.state, why));
        }
        (_, false) => {}
    }
    let definition = stored_json(&definition, "the definition of a run")?;
    Ok(Resumable { run, definition, generation, holder })
}

/// Resets the steps of a run so that it can continue, and applies the decisions of a person.
///
/// # Errors
/// `E_STEP_UNCERTAIN` if a person has to decide about a step. `E_INVALID_ARGUMENT` for a decision about a step that
/// needs none, or if there is no step to retry.
pub fn prepare(
    context: &Context,
    resumable: &Resumable,
    program: &Program,
    decisions: &[(String, Decision)],
    retry: Option<&Retry>,
) -> Result<()> {
    let (run, now) = (&resumable.run, context.clock.now());
    let refused = resumable.holder.write(&context.store, |db| {
        let rows = steps::of(db, run.id)?;
        if let Some(retry) = retry {
            for seq in tried_again(&rows, program, retry)? {
                steps::retry(db, run.id, rows[seq].seq)?;
            }
        }
        for (name, _) in decisions {
            check_decision(&rows, program, name)?;
        }
        let mut uncertain = None;
        for (row, step) in rows.iter().zip(&program.steps) {
            let decision = decisions.iter().find(|(name, _)| *name == row.name).map(|(_, decision)| decision);
            match (row.state, decision) {
                (StepState::Running, None) if may_repeat(&step.spec) => again(db, run.id, row, now)?,
                (StepState::Running | StepState::Uncertain, Some(decision)) => decide(db, run.id, row, decision, now)?,
                (StepState::Running, None) => {
                    let why = "the process ended before the response arrived";
                    close(db, run.id, row, now)?;
                    steps::end(db, run.id, row.seq, StepState::Uncertain, Some(why), now)?;
                    uncertain.get_or_insert_with(|| row.name.clone());
                }
                (StepState::Uncertain, None) => drop(uncertain.get_or_insert_with(|| row.name.clone())),
                _ => {}
            }
        }
        match &uncertain {
            Some(step) => {
                let reason = format!("it is unknown whether step '{step}' did its work");
                runs::set_state(db, run.id, State::Uncertain, Some(&reason), now)?;
            }
            None => runs::set_state(db, run.id, State::Running, None, now)?,
        }
        Ok(uncertain)
    })?;
    refused.map_or(Ok(()), |step| Err(self::uncertain(run.uuid, &step)))
}

/// Returns the steps to retry, in order: the named one, failed ones, and those that were skipped because they depend on
/// one of these. A step that succeeded is never retried.
fn tried_again(rows: &[Step], program: &Program, retry: &Retry) -> Result<Vec<usize>> {
    let failed: Vec<&str> =
        rows.iter().filter(|row| row.state == StepState::Failed).map(|row| row.name.as_str()).collect();
    let refused = |why: String| {
        Error::new(Code::InvalidArgument, why).hint(match failed.as_slice() {
            [] => "no step failed; the run failed after its last step".to_owned(),
            steps => format!("--retry retries the failed steps: {}", steps.join(", ")),
        })
    };
    let first = match retry {
        Retry::Failed => 0,
        Retry::From(name) => {
            let at = rows.iter().position(|row| row.name == *name);
            let at = at.ok_or_else(|| refused(format!("The run has no step '{}'", name.escape_debug())))?;
            if rows[at].state == StepState::Succeeded {
                return Err(refused(format!("Step '{name}' succeeded; mcpkg does not repeat it")));
            }
            at
        }
    };
    let mut again: Vec<usize> = Vec::new();
    for (at, (row, step)) in rows.iter().zip(&program.steps).enumerate().skip(first) {
        let is_named = at == first && matches!(retry, Retry::From(_));
        let follows = row.state == StepState::Skipped && step.needs.iter().any(|needed| again.contains(needed));
        if is_named || follows || row.state == StepState::Failed {
            again.push(at);
        }
    }
    match again.is_empty() {
        true => Err(refused("There is no failed step to retry".to_owned())),
        false => Ok(again),
    }
}

/// Checks that a decision is about a step with an unknown outcome.
fn check_decision(rows: &[Step], program: &Program, name: &str) -> Result<()> {
    let open = |row: &Step| {
        let step = program.steps.get(usize::try_from(row.seq).unwrap_or(usize::MAX));
        let left = row.state == StepState::Running && step.is_some_and(|step| !may_repeat(&step.spec));
        row.state == StepState::Uncertain || left
    };
    if rows.iter().any(|row| row.name == name && open(row)) {
        return Ok(());
    }
    let undecided: Vec<&str> = rows.iter().filter(|row| open(row)).map(|row| row.name.as_str()).collect();
    let hint = match undecided.as_slice() {
        [] => "no step of the run needs a decision".to_owned(),
        steps => format!("these steps need a decision: {}", steps.join(", ")),
    };
    Err(Error::new(Code::InvalidArgument, format!("Step '{}' does not need a decision", name.escape_debug()))
        .hint(hint))
}

fn again(db: &Db<'_>, run: i64, row: &Step, now: Millis) -> Result<()> {
    close(db, run, row, now)?;
    steps::end(db, run, row.seq, StepState::Pending, None, now)
}

/// Records that the interrupted attempt never got an answer.
fn close(db: &Db<'_>, run: i64, row: &Step, now: Millis) -> Result<()> {
    match attempts::last(db, run, row.seq)? {
        Some(last) if last.ended.is_none() => {
            let reason = Some("the process ended before the response arrived".to_owned());
            let ended = Ended { outcome: LOST.to_owned(), reason, ended_at: now, ..Ended::default() };
            attempts::end(db, run, row.seq, last.begun.number, &ended)
        }
        _ => Ok(()),
    }
}

fn decide(db: &Db<'_>, run: i64, row: &Step, decision: &Decision, now: Millis) -> Result<()> {
    close(db, run, row, now)?;
    let (state, reason) = match decision {
        Decision::Retry => (StepState::Pending, None),
        Decision::Skip => (StepState::Skipped, Some("a person chose to skip it")),
        Decision::Done(output) => {
            steps::keep_output(db, run, row.seq, &output.to_string(), "[]")?;
            (StepState::Succeeded, Some("a person marked it as done"))
        }
    };
    steps::end(db, run, row.seq, state, reason, now)
}

/// Cancels a run. If a process is carrying it out, this asks the process to stop. Otherwise this ends the run itself.
pub fn cancel(context: &Context, run: &Run) -> Result<State> {
    let now = context.clock.now();
    if !context.store.write(|db| runs::want(db, run.id, runs::Wanted::Cancel))? {
        return Err(over(run));
    }
    let Some(holder) = context.store.hold_run(run.uuid)? else { return Ok(State::CancelRequested) };
    holder.write(&context.store, |db| {
        for row in steps::of(db, run.id)?.iter().filter(|row| row.state == StepState::Running) {
            close(db, run.id, row, now)?;
        }
        steps::give_up(db, run.id, now)?;
        runs::set_state(db, run.id, State::Canceled, Some("somebody canceled it"), now)
    })?;
    Ok(State::Canceled)
}

/// Pauses a run, so that it can be resumed later. Fails with `E_RUN_STATE` if the run is not in progress.
pub fn pause(context: &Context, run: &Run) -> Result<()> {
    let state = report::state(&context.store, run);
    if !state.is_under_way() {
        let why = format!("Run {} is {}: there is nothing to pause", run.uuid, state.word());
        return Err(wrong_state(run, state, why));
    }
    context.store.write(|db| runs::want(db, run.id, runs::Wanted::Pause)).map(drop)
}

fn busy(context: &Context, run: Uuid) -> Error {
    let hint = match context.is_shell() {
        true => {
            format!(
                "see the run's progress with `mcpkg workflow runs {run}`, or stop the run with `mcpkg workflow pause {run}`"
            )
        }
        false => goes_on(context, run),
    };
    Error::new(Code::RunBusy, format!("Run {run} is in use by another process"))
        .with_details(json!({ "run": run.to_string() }))
        .hint(hint)
}

/// Returns the hint that tells an agent which tool shows the progress of a run.
pub fn goes_on(context: &Context, run: Uuid) -> String {
    let reads = match context.caller.identity() {
        Identity::Assistant => format!("list_runs with run {run}"),
        _ => format!(r#"execute with command mcpkg:workflow:runs and args {{"run":"{run}"}}"#),
    };
    format!("the run is still in progress; call {reads} to see its progress, and its output after it has ended")
}

fn over(run: &Run) -> Error {
    wrong_state(run, run.state, format!("Run {} has already ended with the state {}", run.uuid, run.state.word()))
}

fn wrong_state(run: &Run, state: State, why: String) -> Error {
    Error::new(Code::RunState, why)
        .with_details(json!({ "run": run.uuid.to_string(), "state": state.word() }))
        .hint("`mcpkg workflow runs` lists runs with their states")
}

/// Returns the error for a run that needs a person's decision.
pub fn uncertain(run: Uuid, step: &str) -> Error {
    let why = format!(
        "It is unknown whether step '{step}' of run {run} did its work, and the step's command is not safe to repeat"
    );
    Error::new(Code::StepUncertain, why).with_details(json!({ "run": run.to_string(), "step": step })).hint(format!(
        "check what the step did; then retry it with `mcpkg workflow resume {run} --step {step}=retry`, skip it with `{step}=skip` \
            instead, or mark it as done with `mcpkg workflow resume {run} --step {step}=done --output FILE`"
    ))
}

/// Returns the error for an unknown run.
pub fn missing(id: &str) -> Error {
    Error::new(Code::NotFound, format!("There is no run '{}'", id.escape_debug()))
        .with_details(json!({ "run": id }))
        .hint("`mcpkg workflow runs` lists the runs")
}
