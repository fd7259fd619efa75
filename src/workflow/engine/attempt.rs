//! One attempt at a step: noted before its request leaves, and what came of it after.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::drive::Drive;
use super::program::place;
use super::sealed::Sealed;
use super::stop::Signal;
use crate::error::Result;
use crate::op::Context;
use crate::store::runs::attempts::{self, Begun, Ended};
use crate::store::runs::{self, steps};
use crate::workflow::commands;
use crate::workflow::running::{Answered, Failed, Running};
use crate::workflow::spec::{CommandSpec, Idempotency, OutputContract};

/// Characters of an answer that are kept of each attempt.
const EXCERPT: usize = 300;

/// An attempt that is over.
#[derive(Debug)]
pub struct Attempt {
    /// Its number among those of its step.
    pub number: i64,
    /// What came of it.
    pub outcome: Result<Answered, Failed>,
    /// What cut it, where something did.
    pub cut: Option<Signal>,
    /// Whether an earlier attempt at the same round was cut off before its answer came.
    pub again: bool,
}

impl Drive<'_> {
    /// Makes an attempt at a step. Where it cannot be noted, nothing is sent.
    ///
    /// # Errors
    /// What keeps it from being noted: `E_DISK_FULL`, `E_DB_BUSY`, `E_READ_ONLY`, `E_STORAGE`.
    pub fn attempt(
        &mut self,
        seq: usize,
        round: i64,
        with: &Map<String, Value>,
        body: Option<&Value>,
    ) -> Result<Attempt> {
        let step = &self.program.steps[seq];
        let spec = &step.spec;
        let context = self.context;
        let place = place(seq);
        let key = (spec.idempotency == Idempotency::Key).then(|| key(self.uuid, &step.id, round).to_string());
        let arguments = arguments(with, body);
        let (host, path) = (spec.base_url.as_deref().map(host), spec.path.clone());
        let deadline = step.repeat.as_ref().map(|repeat| context.clock.now().saturating_add(repeat.timeout));
        let deadline = self.rows[seq].deadline_at.or(deadline);
        let mut begun = Begun {
            seq: place,
            number: 1,
            round,
            key: key.clone(),
            actor: context.caller.actor().to_owned(),
            command: spec.id.clone(),
            method: spec.method.clone(),
            host,
            path,
            arguments: self.known.shown(&arguments).to_string(),
            started_at: context.clock.now(),
        };
        let run = self.run;
        let last = self.note(|db| {
            let last = attempts::last(db, run, place)?;
            begun.number = last.as_ref().map_or(0, |last| last.begun.number) + 1;
            attempts::begin(db, run, &begun)?;
            steps::begin(db, run, place, round, deadline, begun.started_at)?;
            runs::set_waiting(db, run, false)?;
            Ok(last)
        })?;
        self.rows[seq].rounds = round;
        self.rows[seq].deadline_at = deadline;
        let token = self.stop.begin_attempt(may_repeat(spec));
        let within = Context { cancelled: token, ..context.clone() };
        let outcome = commands::run(&within, &Running { spec, with, body, key: key.as_deref() });
        let cut = self.stop.end_attempt();
        // One that was looked at again by a resume has no answer either.
        let again =
            last.is_some_and(|last| last.begun.round == round && last.ended.is_none_or(|ended| ended.outcome == LOST));
        Ok(Attempt { number: begun.number, outcome, cut, again })
    }

    /// Returns what is kept of an attempt, and the answer without its secrets.
    pub fn ended(
        &mut self,
        seq: usize,
        outcome: &Result<Answered, Failed>,
        reason: Option<&str>,
    ) -> (Ended, Option<Sealed>) {
        let contract = &self.program.steps[seq].spec.output_contract;
        let ended_at = self.context.clock.now();
        let reason = reason.map(|reason| self.known.hidden_in(reason));
        match outcome {
            Ok(answered) => {
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
                let ended = Ended {
                    outcome: failed.error.code().name().to_owned(),
                    status: failed.status.map(i64::from),
                    reason: Some(reason.unwrap_or_else(|| said.clone())),
                    excerpt: Some(said.chars().take(EXCERPT).collect()),
                    ended_at,
                    ..Ended::default()
                };
                (ended, None)
            }
        }
    }
}

/// What stands as the outcome of an attempt whose process ended before the answer came.
pub const LOST: &str = "lost";

/// Whether a command may be sent again where nobody knows whether it did its work.
pub fn may_repeat(spec: &CommandSpec) -> bool {
    spec.idempotency != Idempotency::None
}

/// Returns the idempotency key of a round of a step: the same however often it is sent.
fn key(run: Uuid, step: &str, round: i64) -> Uuid {
    Uuid::new_v5(&run, format!("{step}\0{round}").as_bytes())
}

/// Returns all that a command is given, as one value.
fn arguments(with: &Map<String, Value>, body: Option<&Value>) -> Value {
    let mut all = with.clone();
    if let Some(body) = body {
        all.insert("body".to_owned(), body.clone());
    }
    Value::Object(all)
}

/// Returns the host of an address, with its port where one is said.
fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest[..end].rsplit_once('@').map_or(&rest[..end], |(_, host)| host).to_owned()
}

fn excerpt(value: &Value) -> String {
    value.to_string().chars().take(EXCERPT).collect()
}

/// Returns the first field of a contract that an answer lacks: of each element where it is a list.
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
    fn a_key_is_that_of_a_run_a_step_and_a_round() {
        let run = Uuid::from_u128(7);
        assert_eq!(key(run, "create", 1), key(run, "create", 1));
        assert_ne!(key(run, "create", 1), key(run, "create", 2));
        assert_ne!(key(run, "create", 1), key(run, "creat", 1));
        assert_ne!(key(run, "create", 1), key(Uuid::from_u128(8), "create", 1));
    }

    #[test]
    fn the_host_of_an_address_has_no_password() {
        assert_eq!(host("https://api.example.com/v1"), "api.example.com");
        assert_eq!(host("http://me:secret@127.0.0.1:80"), "127.0.0.1:80");
    }

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
