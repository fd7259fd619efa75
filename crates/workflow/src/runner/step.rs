//! Runs one step: checks whether to run it, repeats it as needed, and records its end.

use std::time::Duration;

use serde_json::{Map, Value};

use super::attempt::{Attempt, lacks, may_repeat};
use super::drive::{Drive, Left, Next};
use super::program::{Planned, place};
use super::stop::Signal;
use crate::commands;
use crate::running::Failed;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::runs::attempts::{self, Ended};
use mcpkg_store::runs::{self, StepState, steps};

/// The next action after a successful attempt.
enum Round {
    /// The step is complete.
    Done,
    /// Repeat the step at this time.
    Again(Millis),
    /// The step fails for this reason: its condition was not met within the limits or cannot be evaluated, or its
    /// output lacks a field.
    GivenUp(String),
}

impl Drive<'_> {
    /// Runs a step: skips it, or runs its command until it succeeds or fails.
    pub fn step(&mut self, seq: usize) -> Result<Next> {
        let program = self.program;
        let step = &program.steps[seq];
        if let Some(reason) = self.unmet(seq) {
            return self.leave(seq, StepState::Skipped, &reason);
        }
        // Evaluate the condition only once: a step that has begun is no longer skipped.
        if self.rows[seq].rounds == 0
            && let Some(condition) = &step.condition
        {
            match self.values.holds(condition, &self.known) {
                Ok((true, _)) => {}
                Ok((false, why)) => return self.leave(seq, StepState::Skipped, &why),
                Err(error) => return self.leave(seq, StepState::Failed, &error.to_string()),
            }
        }
        // Reading a secret may start a slow program, so record the finished steps first.
        if !step.reads_no_secret() {
            self.note_held()?;
        }
        let arguments = self.secrets(step).and_then(|secrets| {
            let cancelled = &self.context.cancelled;
            self.values.arguments(step, &secrets, cancelled)
        });
        let (with, body) = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return self.leave(seq, StepState::Failed, &description(&error)),
        };
        loop {
            if let Some(signal) = self.wait(seq)? {
                return Ok(Next::Stopped(signal));
            }
            let last = self.last(seq)?;
            let attempt = self.attempt(seq, last.as_ref(), &with, body.as_ref())?;
            if let Some(next) = self.conclude(seq, attempt)? {
                return Ok(next);
            }
        }
    }

    /// Returns the catalog secrets that the arguments of a step use.
    fn secrets(&self, step: &Planned) -> Result<Map<String, Value>> {
        let read = |name: &String| {
            let secret = commands::secret(self.context, &step.spec, name)?;
            Ok((name.clone(), Value::from(secret.expose())))
        };
        step.secrets.iter().map(read).collect()
    }

    /// Returns why a step must be skipped, if a step that it depends on did not succeed.
    fn unmet(&self, seq: usize) -> Option<String> {
        let needs = self.program.steps[seq].needs.iter().map(|need| &self.rows[*need]);
        let unmet = needs.into_iter().find(|need| need.state != StepState::Succeeded)?;
        Some(format!("it depends on step '{}', which did not succeed (state: {})", unmet.name, unmet.state.word()))
    }

    fn leave(&mut self, seq: usize, state: StepState, reason: &str) -> Result<Next> {
        self.end_step(seq, state, Some(reason), Left::default())?;
        Ok(Next::Step)
    }

    fn last(&self, seq: usize) -> Result<Option<attempts::Attempt>> {
        match self.rows[seq].rounds {
            0 => Ok(None),
            _ => self.context.store.read_patiently(|db| attempts::last(db, self.run, place(seq))),
        }
    }

    /// Waits until the next round may begin. Returns the signal that ended the wait, if any.
    fn wait(&mut self, seq: usize) -> Result<Option<Signal>> {
        let Some(next_at) = self.rows[seq].next_at.take() else { return Ok(None) };
        self.note_held()?;
        let every = self.program.steps[seq].repeat.as_ref().map_or(0, |repeat| repeat.every);
        // If the clock was set back, do not wait longer than one interval.
        let left = next_at.saturating_sub(self.context.clock.now()).clamp(0, every);
        Ok(self.stop.sleep(Duration::from_millis(left.unsigned_abs())))
    }

    /// Records the outcome of an attempt. Returns what to do next, or `None` to start another round.
    fn conclude(&mut self, seq: usize, attempt: Attempt) -> Result<Option<Next>> {
        let Attempt { number, round, outcome, cut, again } = attempt;
        match outcome {
            Ok(answered) => {
                let decided = self.decide(seq, round, &answered.output);
                let reason = match &decided {
                    Round::GivenUp(why) => Some(why.clone()),
                    Round::Done | Round::Again(_) => None,
                };
                let output = answered.output.clone();
                let (ended, sealed) = self.ended(seq, &Ok(answered), reason.as_deref());
                let kept = sealed.map(|sealed| (sealed.value.to_string(), serde_json::json!(sealed.at).to_string()));
                let left = Left { attempt: Some((number, ended)), output: kept };
                self.answered(seq, decided, left, output)
            }
            Err(failed) => self.failed(seq, number, failed, cut, again).map(Some),
        }
    }

    /// Decides what to do after an answer.
    fn decide(&mut self, seq: usize, round: i64, output: &Value) -> Round {
        let step = &self.program.steps[seq];
        let names = step.fields.iter().map(|field| field.name.as_str());
        if let Some(field) = lacks(&step.spec.output_contract, names, output) {
            return Round::GivenUp(format!("its output has no field '{field}', which its output_contract requires"));
        }
        // Without `until`, the step runs once. The check and the plan also say so.
        let until = step.repeat.as_ref().and_then(|repeat| Some((repeat, repeat.until.as_ref()?)));
        let Some((repeat, until)) = until else { return Round::Done };
        match self.values.holds_with(until, &step.id, output, &self.known) {
            Ok((true, _)) => return Round::Done,
            Ok((false, _)) => {}
            Err(error) => return Round::GivenUp(error.to_string()),
        }
        let next_at = self.context.clock.now().saturating_add(repeat.every);
        match self.rows[seq].deadline_at.is_some_and(|deadline| next_at > deadline) {
            true => Round::GivenUp(format!("its condition was not met in time, after {round} attempts")),
            false if round >= repeat.max_rounds => {
                Round::GivenUp(format!("its condition was not met after {round} attempts"))
            }
            false => Round::Again(next_at),
        }
    }

    fn answered(&mut self, seq: usize, decided: Round, left: Left, output: Value) -> Result<Option<Next>> {
        match decided {
            Round::Done => {
                self.values.outputs.insert(self.program.steps[seq].id.clone(), output);
                self.end_step(seq, StepState::Succeeded, None, left)?;
                Ok(Some(Next::Step))
            }
            Round::Again(next_at) => {
                let (run, place) = (self.run, place(seq));
                self.note(|db| {
                    if let Some((number, ended)) = &left.attempt {
                        attempts::end(db, run, place, *number, ended)?;
                    }
                    steps::wait(db, run, place, next_at)?;
                    runs::set_waiting(db, run, true)
                })?;
                self.rows[seq].state = StepState::Waiting;
                self.rows[seq].next_at = Some(next_at);
                Ok(None)
            }
            Round::GivenUp(why) => {
                self.end_step(seq, StepState::Failed, Some(&why), Left { output: None, ..left })?;
                Ok(Some(Next::Step))
            }
        }
    }

    fn failed(&mut self, seq: usize, number: i64, failed: Failed, cut: Option<Signal>, again: bool) -> Result<Next> {
        let (run, place) = (self.run, place(seq));
        let spec = &self.program.steps[seq].spec;
        let is_gone = matches!(failed.status, Some(404 | 410)) && spec.method.as_deref() == Some("DELETE");
        if is_gone && again {
            let note = "already deleted by an earlier attempt whose response was lost";
            let (ended, _) = self.ended(seq, &Err(failed), Some(note));
            let ended = Ended { outcome: "ok".to_owned(), ..ended };
            self.values.outputs.insert(self.program.steps[seq].id.clone(), Value::Null);
            let output = Some(("null".to_owned(), "[]".to_owned()));
            self.end_step(seq, StepState::Succeeded, Some(note), Left { attempt: Some((number, ended)), output })?;
            return Ok(Next::Step);
        }
        let is_uncertain = failed.may_be_done && !may_repeat(spec);
        match cut {
            // Leave the row in the state `running`: a resume then decides whether the step may be repeated.
            Some(Signal::End) => Ok(Next::Stopped(Signal::End)),
            Some(signal) if !is_uncertain => {
                let (ended, _) = self.ended(seq, &Err(failed), Some("the attempt was interrupted"));
                self.note(|db| {
                    attempts::end(db, run, place, number, &ended)?;
                    steps::end(db, run, place, StepState::Pending, None, ended.ended_at)
                })?;
                Ok(Next::Stopped(signal))
            }
            _ if is_uncertain => {
                let why = format!("{}; it is unknown whether the step did its work", public(&failed.error));
                let (ended, _) = self.ended(seq, &Err(failed), Some(&why));
                let left = Left { attempt: Some((number, ended)), output: None };
                self.end_step(seq, StepState::Uncertain, Some(&why), left)?;
                Ok(cut.map_or(Next::Uncertain, Next::Stopped))
            }
            _ => {
                let why = public(&failed.error);
                let (ended, _) = self.ended(seq, &Err(failed), None);
                let left = Left { attempt: Some((number, ended)), output: None };
                self.end_step(seq, StepState::Failed, Some(&why), left)?;
                Ok(Next::Step)
            }
        }
    }
}

/// Describes an error that occurred before anything was sent. The code is included, except `E_STEP_FAILED`, which adds nothing.
fn description(error: &Error) -> String {
    match error.code() {
        Code::StepFailed => error.public_message().to_owned(),
        _ => public(error),
    }
}

fn public(error: &Error) -> String {
    format!("{}: {}", error.code().name(), error.public_message())
}
