//! Makes one attempt at a step. The attempt is recorded before its request is sent, and its outcome afterwards.

use serde_json::{Map, Value};

use super::beginning::{beginning, deadline, key, note};
use super::drive::Drive;
use super::stop::Signal;
use crate::commands;
use crate::expression::Root;
use crate::running::{Answered, Failed, Running};
use crate::sealed::Sealed;
use crate::spec::{CommandSpec, Idempotency, OutputContract};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::runs::attempts::{self, Ended};
use mcpkg_store::runs::steps::Step;
use mcpkg_store::runs::{self, StepState};

/// Maximum length of the excerpt of an answer that is stored for each attempt, in characters.
const EXCERPT: usize = 300;

/// A finished attempt.
#[derive(Debug)]
pub struct Attempt {
    /// The number of the attempt within the step.
    pub number: i64,
    /// The round of `repeat` that the attempt belongs to.
    pub round: i64,
    pub outcome: Result<Answered, Failed>,
    /// The signal that interrupted the attempt, if any.
    pub cut: Option<Signal>,
    /// Whether an earlier attempt of the same round was interrupted before its answer arrived.
    pub again: bool,
}

impl Drive<'_> {
    /// Makes the next attempt at a step; `last` is the previous one. Nothing is sent if the attempt cannot be recorded.
    pub fn attempt(
        &mut self,
        seq: usize,
        last: Option<&attempts::Attempt>,
        with: &Map<String, Value>,
        body: Option<&Value>,
    ) -> Result<Attempt> {
        let step = &self.program.steps[seq];
        let round = round(&self.rows[seq], last);
        let is_noted = std::mem::take(&mut self.is_begun);
        let number = last.map_or(0, |last| last.begun.number) + i64::from(!is_noted);
        let mut begun = beginning(self.context, self.uuid, step, seq, (with, body), &mut self.known);
        (begun.number, begun.round) = (number, round);
        begun.key = key(self.uuid, step, round);
        let deadline = self.rows[seq].deadline_at.or_else(|| deadline(step, begun.started_at));
        if !is_noted {
            let waited = self.rows[seq].state == StepState::Waiting;
            self.note(|db| {
                note(db, self.run, &begun, deadline)?;
                if waited { runs::set_waiting(db, self.run, false) } else { Ok(()) }
            })?;
        }
        let row = &mut self.rows[seq];
        (row.state, row.rounds, row.deadline_at) = (StepState::Running, round, deadline);
        let token = self.stop.begin_attempt(may_repeat(&step.spec));
        let within = Context { cancelled: token, ..self.context.clone() };
        let running = Running { spec: &step.spec, with, body, key: begun.key.as_deref() };
        let outcome = run(&within, &running);
        let cut = self.stop.end_attempt();
        // After a resume, an attempt without an answer has the outcome `LOST`.
        let lost = |last: &attempts::Attempt| last.ended.as_ref().is_none_or(|ended| ended.outcome == LOST);
        let again = !is_noted && last.is_some_and(|last| last.begun.round == round && lost(last));
        Ok(Attempt { number, round, outcome, cut, again })
    }

    /// Returns the record of a finished attempt, and its answer without secrets.
    pub fn ended(
        &mut self,
        seq: usize,
        outcome: &Result<Answered, Failed>,
        reason: Option<&str>,
    ) -> (Ended, Option<Sealed>) {
        let step = &self.program.steps[seq];
        let contract = &step.spec.output_contract;
        let ended_at = self.context.clock.now();
        let reason = reason.map(|reason| self.known.hidden_in(reason));
        match outcome {
            Ok(answered) => {
                // A later step may send a value of this answer as a password, so mask it here too.
                let (source, known) = (Root::Step(step.id.clone()), &mut self.known);
                self.program.passwords.each(&source, &mut answered.output.clone(), &mut |_, value| known.learn(value));
                let sealed = self.known.seal(&answered.output, contract);
                let ended = Ended {
                    outcome: "ok".to_owned(),
                    status: answered.status.map(i64::from),
                    bytes: i64::try_from(answered.size).ok(),
                    sha256: Some(answered.sha256),
                    excerpt: Some(excerpt(&sealed.value)),
                    reason,
                    ended_at,
                };
                (ended, Some(sealed))
            }
            Err(failed) => {
                let said = self.known.hidden_in(failed.error.public_message());
                let answer = failed.answer.as_ref();
                let is_whole = |text: &str| text.chars().count() < EXCERPT;
                let excerpt = answer.map(|answer| match answer.excerpt.as_str() {
                    text if is_whole(text) => self.known.hidden_in(text),
                    cut => self.known.hidden_in_beginning(cut),
                });
                let ended = Ended {
                    outcome: failed.error.code().name().to_owned(),
                    status: failed.status.map(i64::from),
                    bytes: answer.and_then(|answer| i64::try_from(answer.bytes).ok()),
                    sha256: answer.map(|answer| answer.sha256),
                    excerpt: Some(excerpt.unwrap_or_else(|| said.chars().take(EXCERPT).collect())),
                    reason: Some(reason.unwrap_or(said)),
                    ended_at,
                };
                (ended, None)
            }
        }
    }
}

/// Runs a command. Waits up to 30 seconds while the database server is unreachable, as long as nothing was sent.
fn run(context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
    let mut failed = None;
    let answered = context.store.patiently(|| match commands::run(context, running) {
        Err(why) if !why.may_be_done && why.error.code() == Code::Unavailable && !context.is_cancelled() => {
            failed = Some(why);
            Err(Error::new(Code::Unavailable, "Cannot read the database"))
        }
        outcome => Ok(outcome),
    });
    match (answered, failed) {
        (Ok(outcome), _) => outcome,
        (Err(_), Some(failed)) => Err(failed),
        (Err(error), None) => Err(error.into()),
    }
}

/// The outcome of an attempt during which mcpkg ended before the answer arrived.
pub const LOST: &str = "lost";

/// Returns whether a command may be sent again when it is unknown whether the last attempt took effect.
pub fn may_repeat(spec: &CommandSpec) -> bool {
    spec.idempotency != Idempotency::None
}

/// Returns the number of the round for the next attempt. The idempotency key depends on the round. After a success or a refusal
/// (4xx), a new round begins: an API that remembers the key would repeat the refusal. After any other failure, such as a lost
/// answer or a server error, the round is repeated with the same key.
fn round(row: &Step, last: Option<&attempts::Attempt>) -> i64 {
    let was_refused = |ended: &Ended| ended.status.is_some_and(|status| (400..500).contains(&status));
    let is_open = |ended: &Ended| ended.outcome != "ok" && !was_refused(ended);
    match last {
        Some(last) if last.ended.as_ref().is_none_or(is_open) => last.begun.round,
        _ => row.rounds + 1,
    }
}

fn excerpt(value: &Value) -> String {
    value.to_string().chars().take(EXCERPT).collect()
}

/// Returns the first required field that is missing in an answer. If the answer is a list or contains one, every element must
/// have the fields, unless the answer itself has them.
pub fn lacks<'c>(
    contract: &'c OutputContract,
    names: impl Iterator<Item = &'c str>,
    output: &Value,
) -> Option<&'c str> {
    let elements: Vec<&Value> = match contract.list.as_deref() {
        None => match output {
            Value::Array(values) => values.iter().collect(),
            value => vec![value],
        },
        Some(".") => output.as_array().map(|values| values.iter().collect()).unwrap_or_default(),
        Some(path) => {
            at(output, path).and_then(Value::as_array).map(|values| values.iter().collect()).unwrap_or_default()
        }
    };
    let mut names = names;
    names.find(|name| elements.iter().any(|element| at(element, name).is_none() && at(output, name).is_none()))
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(values) => key.parse::<usize>().ok().and_then(|index| values.get(index)),
        value => value.get(key),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_is_missing_is_named() {
        let list = OutputContract { list: Some("items".to_owned()), ..OutputContract::default() };
        let plain = OutputContract::default();
        let of = |contract, name, value: Value| lacks(contract, [name].into_iter(), &value).is_some();
        assert!(!of(&plain, "owner.id", json!({ "owner": { "id": null } })));
        assert!(of(&plain, "owner.id", json!({ "owner": {} })) && of(&plain, "id", json!("text")));
        assert!(!of(&list, "id", json!({ "items": [{ "id": 1 }] })) && !of(&list, "id", json!({ "items": [] })));
        assert!(of(&list, "id", json!({ "items": [{ "id": 1 }, {}] })));
        assert!(!of(&plain, "id", json!([{ "id": 1 }])) && of(&plain, "id", json!([{}])));
    }
}
