//! Records every run, and every refused run, without its contents. If the record cannot be written, nothing runs.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use uuid::Uuid;

use super::call::Tool;
use super::kind::RunnerKind;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::process::starter::Before;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::tools::runs::{self, Begun, Ended, Run};
use mcpkg_store::{Holding, RunHolder};

/// The outcome of a run if its mcpkg process was killed.
const INTERRUPTED: &str = "interrupted";

/// The outcome of a run that cannot be checked, for example because it is on another machine.
const UNKNOWN: &str = "unknown";

/// The details of a requested run, as they are recorded.
#[derive(Clone, Copy, Debug)]
pub struct RunDetails<'a> {
    pub tool: &'a Tool,
    pub action: &'a str,
    /// The arguments; only their hash is recorded.
    pub input: &'a Map<String, Value>,
    pub verdict: &'a str,
}

/// Facts about an ended run: its runner, its exit status, and how much it printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub runner: Option<RunnerKind>,
    pub exit_code: Option<i32>,
    pub stdout: u64,
    /// Bytes of standard error.
    pub stderr: u64,
}

/// An active run. Its lock shows other processes that the run is active; the lock ends together with this process.
#[derive(Debug)]
pub struct UnderWay {
    pub id: Uuid,
    begun: Begun,
    /// Whether the row was written; `None` before the first attempt.
    row: Arc<Mutex<Option<Result<()>>>>,
    holder: Arc<RunHolder>,
}

impl UnderWay {
    /// Returns a run whose start is not recorded yet.
    pub fn of(context: &Context, asked: RunDetails<'_>) -> Result<Self> {
        let begun = begun(context, asked);
        let holder = context.store.hold_run(begun.uuid)?;
        let holder = holder.ok_or_else(|| Error::internal("a new run is locked by another process"))?;
        Ok(Self { id: begun.uuid, begun, row: Arc::default(), holder: Arc::new(holder) })
    }

    /// Returns a function that records the start and reports whether that worked. If not, [`UnderWay::refusal`] has
    /// the error.
    pub fn note(&self, context: &Context) -> Before {
        let (store, begun, row) = (context.store.clone(), self.begun.clone(), Arc::clone(&self.row));
        let holder = Arc::clone(&self.holder);
        Box::new(move || {
            let written = holder.write(&store, |db| runs::begin(db, &begun));
            let may_start = written.is_ok();
            *row.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
            may_start
        })
    }

    /// Takes the error if the start could not be recorded.
    pub fn refusal(&self) -> Option<Error> {
        let mut row = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        row.take_if(|written| written.is_err()).and_then(Result::err)
    }

    fn has_row(&self) -> bool {
        matches!(*self.row.lock().unwrap_or_else(PoisonError::into_inner), Some(Ok(())))
    }
}

/// Records the start of a run.
pub fn begin(context: &Context, asked: RunDetails<'_>) -> Result<UnderWay> {
    let run = UnderWay::of(context, asked)?;
    run.note(context)();
    run.refusal().map_or(Ok(run), Err)
}

/// Records the end of a run. If the run ended before its start was recorded, this records the start too. If writing
/// fails, the error is only logged: it is too late to prevent the run.
pub fn end(context: &Context, run: &UnderWay, facts: Facts, failure: Option<&Error>) {
    let ended = ended(context, facts, failure);
    let written = run.holder.write(&context.store, |db| {
        if !run.has_row() {
            runs::begin(db, &run.begun)?;
        }
        runs::end(db, run.id, &ended)
    });
    if let Err(error) = written {
        tracing::warn!(run = %run.id, outcome = ended.outcome, %error, "could not record the outcome of a run");
    }
}

/// Returns the outcome of a run; `None` while it is active. The outcome is [`INTERRUPTED`] if the run's mcpkg process
/// was killed, and [`UNKNOWN`] if that cannot be checked.
pub fn outcome<'r>(context: &Context, run: &'r Run) -> Option<Cow<'r, str>> {
    if let Some(ended) = &run.ended {
        return Some(Cow::Borrowed(&ended.outcome));
    }
    match context.store.holding(run.begun.uuid) {
        Holding::Held => None,
        // Read the row again: the run may have ended since the first read.
        Holding::Free => match context.store.read(|db| runs::get(db, run.begun.uuid)) {
            Ok(Some(Run { ended: Some(ended), .. })) => Some(Cow::Owned(ended.outcome)),
            Ok(_) => Some(Cow::Borrowed(INTERRUPTED)),
            Err(_) => Some(Cow::Borrowed(UNKNOWN)),
        },
        Holding::Unknown => Some(Cow::Borrowed(UNKNOWN)),
    }
}

/// Removes the locks of runs whose mcpkg process was killed.
pub fn sweep_locks(context: &Context) -> Result<()> {
    for run in context.store.read(runs::open)? {
        if context.store.holding(run) == Holding::Free {
            drop(context.store.hold_run(run)?);
        }
    }
    Ok(())
}

/// Records a run that was refused before anything started.
pub fn refused(context: &Context, asked: RunDetails<'_>, failure: &Error) {
    let begun = begun(context, asked);
    let ended = ended(context, Facts::default(), Some(failure));
    let written = context.store.write(|db| {
        runs::begin(db, &begun)?;
        runs::end(db, begun.uuid, &ended)
    });
    if let Err(error) = written {
        tracing::warn!(tool = asked.tool.name, refused = ended.outcome, %error, "could not record a refused run");
    }
}

fn begun(context: &Context, asked: RunDetails<'_>) -> Begun {
    Begun {
        uuid: context.clock.uuid(),
        actor: context.caller.actor().to_owned(),
        asker: context.caller.asker(),
        tool: asked.tool.name.clone(),
        version: asked.tool.version.clone(),
        action: asked.action.to_owned(),
        sha256: asked.tool.sha256,
        input_hash: hash(asked.input),
        verdict: asked.verdict.to_owned(),
        started_at: context.clock.now(),
    }
}

fn ended(context: &Context, facts: Facts, failure: Option<&Error>) -> Ended {
    let size = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
    Ended {
        runner: facts.runner.map(|runner| runner.word().to_owned()),
        outcome: failure.map_or("ok", |error| error.code().name()).to_owned(),
        exit_code: facts.exit_code.map(i64::from),
        stdout_size: size(facts.stdout),
        stderr_size: size(facts.stderr),
        ended_at: context.clock.now(),
    }
}

/// Returns the SHA-256 of the arguments, which does not depend on their order.
fn hash(input: &Map<String, Value>) -> [u8; 32] {
    let mut sorted = Value::Object(input.clone());
    sorted.sort_all_objects();
    sha256::of(sorted.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_of_arguments_does_not_depend_on_their_order() {
        let hash = |value: Value| hash(value.as_object().expect("an object"));
        assert_eq!(hash(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), hash(json!({ "b": { "d": 3, "c": 2 }, "a": 1 })));
        assert_ne!(hash(json!({ "a": [1, 2] })), hash(json!({ "a": [2, 1] })));
    }
}
