//! Carries out a run: runs its steps one after the other until the run ends or something stops it.

use std::cell::Cell;

use serde_json::Value;
use uuid::Uuid;

use super::begin::{self, Begun};
use super::program::{Program, place};
use super::run_data::RunData;
use super::stop::{Signal, Stop};
use super::values::Values;
use crate::sealed::Known;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redacted;
use mcpkg_core::op::Context;
use mcpkg_store::events;
use mcpkg_store::runs::attempts::{self, Ended};
use mcpkg_store::runs::steps::Step;
use mcpkg_store::runs::{self, Kind, State, StepState, steps};
use mcpkg_store::{Db, RunHolder};

/// A run that is being worked on.
pub struct Drive<'a> {
    pub context: &'a Context,
    pub program: &'a Program,
    pub run: i64,
    pub uuid: Uuid,
    /// The generation of the database, which changes when a backup is restored.
    pub generation: String,
    /// Name of the run's project.
    pub project: Option<&'a str>,
    /// The values that templates can use so far.
    pub values: Values,
    /// The secrets to mask in answers.
    pub known: Known,
    /// The rows of the run's steps.
    pub rows: Vec<Step>,
    /// Signals that stop the work.
    pub stop: &'a Stop,
    /// The lock on the run.
    pub holder: &'a RunHolder,
    /// Whether the first attempt was recorded when the run began.
    pub is_begun: bool,
    /// Finished steps that are not recorded yet; see [`Drive::note`].
    held: Cell<Vec<Over>>,
    /// The final state, once it is recorded.
    ended: Option<State>,
}

/// A finished step that is not recorded yet.
struct Over {
    seq: usize,
    state: StepState,
    reason: Option<String>,
    at: Millis,
    left: Left,
}

/// The data to store for a finished step, in addition to its state.
#[derive(Debug, Default)]
pub struct Left {
    /// The number and the outcome of the step's last attempt.
    pub attempt: Option<(i64, Ended)>,
    /// The step's output, and the JSON pointers of the removed secrets, both as JSON.
    pub output: Option<(String, String)>,
}

/// The end of a run.
struct End {
    state: State,
    reason: Option<String>,
    /// The output of the run, as JSON without secrets.
    output: Option<String>,
}

/// The next action after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Step,
    /// Stop: a signal interrupted the work.
    Stopped(Signal),
    /// Stop: the outcome of the step is unknown.
    Uncertain,
}

/// Carries out a run until it ends or something stops it, and then releases its lock. A failed step is not an error. An error
/// means that a secret input could not be read, or that progress could not be recorded; the run then counts as interrupted.
pub fn drive(context: &Context, program: &Program, begun: Begun) -> Result<()> {
    let Begun { run: uuid, holder, is_begun, taken } = begun;
    let RunData { id: run, plan_hash, rows, earlier, project, generation } = taken;
    let mut values = Values::of(program, &context.cancelled)?;
    earlier.into_iter().for_each(|earlier| values.restore(earlier));
    let stop = Stop::default();
    let mut drive = Drive {
        context,
        program,
        run,
        uuid,
        generation,
        project: project.as_deref(),
        values,
        known: program.known(),
        rows,
        stop: &stop,
        holder: &holder,
        is_begun,
        held: Cell::default(),
        ended: None,
    };
    let worked = stop.watched(context, run, || drive.work());
    let may_be_retried = program.kind == Kind::Workflow && drive.ended == Some(State::Failed);
    if drive.is_over() && !may_be_retried {
        begin::forget(context, program, uuid, &plan_hash);
    }
    drop(drive);
    drop(holder);
    worked
}

impl Drive<'_> {
    /// Writes to the rows of the run. The same transaction records the steps that finished since the last write, so the output
    /// of a step and the next attempt are committed together.
    ///
    /// # Errors
    /// `E_RUN_STATE` if the run was deleted, or the database was restored from a backup, after the run began.
    pub fn note<T>(&self, mut what: impl FnMut(&Db<'_>) -> Result<T>) -> Result<T> {
        let held = self.held.take();
        let noted = self.holder.write(&self.context.store, |db| {
            match runs::stands(db, self.run, self.uuid, &self.generation)? {
                true => {
                    held.iter().try_for_each(|over| self.note_over(db, over))?;
                    what(db)
                }
                false => Err(Error::new(
                    Code::RunState,
                    format!(
                        "Run {} was deleted while it was running, or the database was restored from a backup",
                        self.uuid
                    ),
                )),
            }
        })?;
        held.iter().for_each(|over| self.tell(over));
        Ok(noted)
    }

    /// Records the finished steps now. Call it before something slow, such as a wait.
    pub fn note_held(&self) -> Result<()> {
        let held = self.held.take();
        let is_noted = held.is_empty();
        self.held.set(held);
        if is_noted { Ok(()) } else { self.note(|_| Ok(())) }
    }

    fn note_over(&self, db: &Db<'_>, over: &Over) -> Result<()> {
        let Over { seq, state, reason, at, left } = over;
        let place = place(*seq);
        if let Some((number, ended)) = &left.attempt {
            attempts::end(db, self.run, place, *number, ended)?;
        }
        if let Some((output, taken_out)) = &left.output {
            steps::keep_output(db, self.run, place, output, taken_out)?;
        }
        steps::end(db, self.run, place, *state, reason.as_deref(), *at)?;
        let is_well = matches!(state, StepState::Succeeded | StepState::Skipped);
        self.event(db, Some(*seq), if is_well { "ok" } else { "E_STEP_FAILED" })
    }

    fn work(&mut self) -> Result<()> {
        let worked = self.steps();
        if worked.is_err()
            && let Err(error) = self.note_held()
        {
            tracing::warn!(run = %self.uuid, %error, "could not record the outcome of the last step");
        }
        worked
    }

    fn steps(&mut self) -> Result<()> {
        for seq in 0..self.program.steps.len() {
            if self.rows[seq].state.is_over() {
                continue;
            }
            // If the first attempt is already recorded, the step counts as under way: do not stop before the attempt.
            let signal = if self.is_begun { None } else { self.stop.signal(self.context, self.run) };
            let next = match signal {
                Some(signal) => Next::Stopped(signal),
                None => self.step(seq)?,
            };
            match next {
                Next::Step => {}
                Next::Stopped(signal) => return self.stopped(signal),
                Next::Uncertain => return self.uncertain(seq),
            }
        }
        self.finish()
    }

    /// Returns whether the run has ended or was deleted, or the database was restored from a backup after the run began.
    fn is_over(&self) -> bool {
        self.ended.is_some()
            || self
                .context
                .store
                .read(|db| {
                    let found = runs::get(db, self.uuid)?;
                    let is_over = found.is_none_or(|run| run.state.is_over());
                    Ok(is_over || !runs::stands(db, self.run, self.uuid, &self.generation)?)
                })
                .unwrap_or(false)
    }

    /// Sets the final state of a step. The next write to the run records it, usually together with the next attempt: see
    /// [`Drive::note`]. After the last step, it is recorded at once, together with the end of the run.
    pub fn end_step(&mut self, seq: usize, state: StepState, reason: Option<&str>, left: Left) -> Result<()> {
        let reason = reason.map(|reason| self.known.hidden_in(reason));
        self.rows[seq].state = state;
        self.rows[seq].reason.clone_from(&reason);
        self.held.get_mut().push(Over { seq, state, reason, at: self.context.clock.now(), left });
        if self.rows.iter().all(|row| row.state.is_over()) {
            let end = self.end();
            self.note(|db| self.note_end(db, &end))?;
            self.ended = Some(end.state);
        }
        Ok(())
    }

    /// Ends the run, unless [`Drive::end_step`] has already done so after the last step.
    fn finish(&mut self) -> Result<()> {
        let state = match self.ended {
            Some(state) => state,
            None => {
                let end = self.end();
                self.note(|db| self.note_end(db, &end))?;
                end.state
            }
        };
        (self.context.say)(&format!("run {}: {}", self.uuid, state.word()));
        Ok(())
    }

    /// Returns the end of a run whose steps are over. The run fails if a step has failed.
    fn end(&mut self) -> End {
        if let Some(step) = self.rows.iter().find(|row| row.state == StepState::Failed) {
            let why = step.reason.as_deref().unwrap_or_default();
            let reason = Some(format!("step '{}' failed: {why}", step.name));
            return End { state: State::Failed, reason, output: None };
        }
        match self.output() {
            Ok(output) => {
                let output = output.map(|output| self.known.shown(&output).to_string());
                End { state: State::Succeeded, reason: None, output }
            }
            Err(error) => End { state: State::Failed, reason: Some(format!("final_output: {error}")), output: None },
        }
    }

    fn note_end(&self, db: &Db<'_>, end: &End) -> Result<()> {
        if let Some(output) = &end.output {
            runs::set_output(db, self.run, output)?;
        }
        runs::set_state(db, self.run, end.state, end.reason.as_deref(), self.context.clock.now())?;
        self.event(db, None, if end.state == State::Succeeded { "ok" } else { "E_STEP_FAILED" })
    }

    /// Returns the output of the run: its filled-in template, or else the output of the last step that succeeded.
    fn output(&self) -> Result<Option<Value>> {
        match &self.program.final_output {
            Some(template) => self.values.answer(template).map(Some),
            None => {
                let last = self.rows.iter().rev().find(|row| row.state == StepState::Succeeded);
                Ok(last.and_then(|step| self.values.outputs.get(&step.name).cloned()))
            }
        }
    }

    /// Records that a signal stopped the work.
    fn stopped(&mut self, signal: Signal) -> Result<()> {
        let (state, reason) = match signal {
            Signal::Pause => (State::Paused, "somebody paused it"),
            Signal::Cancel => (State::Canceled, "somebody canceled it"),
            Signal::End => (State::Interrupted, "the process that was running it has ended"),
        };
        let now = self.context.clock.now();
        self.note(|db| {
            if state == State::Canceled {
                steps::give_up(db, self.run, now)?;
            }
            runs::set_state(db, self.run, state, Some(reason), now)?;
            self.event(db, None, if state == State::Canceled { "E_CANCELLED" } else { "ok" })
        })?;
        (self.context.say)(&format!("run {}: {}", self.uuid, state.word()));
        Ok(())
    }

    /// Records that the outcome of a step is unknown, so that a person has to decide.
    fn uncertain(&mut self, seq: usize) -> Result<()> {
        let reason = format!("it is unknown whether step '{}' did its work", self.program.steps[seq].id);
        let now = self.context.clock.now();
        self.note(|db| {
            runs::set_state(db, self.run, State::Uncertain, Some(&reason), now)?;
            self.event(db, None, "E_STEP_UNCERTAIN")
        })
    }

    /// Appends an event about a step or the whole run, for the audit trail and for subscribers.
    pub fn event(&self, db: &Db<'_>, seq: Option<usize>, outcome: &str) -> Result<()> {
        let step = seq.map(|seq| format!("/{}", self.program.steps[seq].id)).unwrap_or_default();
        let subject = format!("{}{step}", self.uuid);
        let (author, subject) = (self.context.author(), redacted(&subject));
        events::append(db, self.context.new_event(author, self.project, self.program.operation(), &subject, outcome))
    }

    fn tell(&self, over: &Over) {
        let (row, total) = (&self.rows[over.seq], self.rows.len() as u64);
        let why = over.reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        let told = format!("step {}: {}{why}", row.name, over.state.word());
        (self.context.progress)(&told, over.seq as u64 + 1, total);
        (self.context.say)(&told);
    }
}
