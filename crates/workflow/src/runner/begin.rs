//! Begins a run. One transaction stores the run and its steps, uses up the consent and, if possible, records the first attempt.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::beginning::{beginning, deadline, note};
use super::program::Program;
use super::run_data::RunData;
use super::values::Values;
use mcpkg_base::approved::Kind;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::consent::request::Consent;
use mcpkg_core::op::Context;
use mcpkg_store::RunHolder;
use mcpkg_store::projects;
use mcpkg_store::runs::attempts;
use mcpkg_store::runs::{self, New};

/// The key of the database generation in the record of a run (see [`record`]).
const GENERATION: &str = "generation";

/// A program to run.
#[derive(Clone, Copy, Debug)]
pub struct RunRequest<'a> {
    pub program: &'a Program,
    /// The definition that the program was built from. A resume builds the program from it again.
    pub definition: &'a Value,
    /// SHA-256 of the plan, in hex.
    pub plan_hash: &'a str,
}

/// A run that has begun, with its lock.
#[derive(Debug)]
pub struct Begun {
    pub run: Uuid,
    /// The lock on the run.
    pub holder: RunHolder,
    /// Whether the first attempt is already recorded.
    pub is_begun: bool,
    pub taken: RunData,
}

/// Begins a run, and uses up the consent to it.
///
/// # Errors
/// `E_CONSENT_EXPIRED` if the consent was already used, was withdrawn, or has expired.
pub fn begin(context: &Context, asked: RunRequest<'_>, consent: &Consent) -> Result<Begun> {
    let RunRequest { program, definition, plan_hash } = asked;
    let run = context.clock.uuid();
    let holder =
        context.store.hold_run(run)?.ok_or_else(|| Error::internal("a new run is locked by another process"))?;
    let steps: Vec<(&str, &str)> = program.steps.iter().map(|step| (step.id.as_str(), step.spec.id.as_str())).collect();
    let (inputs, definition) = (Value::Object(program.kept_inputs()).to_string(), definition.to_string());
    let (author, asker) = (context.author(), context.caller.asker());
    let first = first(context, program, run);
    let taken = holder.write(&context.store, |db| {
        let project = projects::resolve(db, &context.selection)?;
        consent.consume(context, db)?;
        let new = New {
            uuid: run,
            project: project.as_ref().map(|project| project.id),
            kind: program.kind,
            name: &program.name,
            definition: &definition,
            plan_hash,
            inputs: &inputs,
            asker: &asker,
            actor: author.actor,
            now: author.now,
        };
        let id = runs::begin(db, &new, &steps)?;
        if let Some((begun, until)) = &first {
            note(db, id, begun, *until)?;
        }
        let project = project.as_ref().map(|project| project.name.as_str());
        context.event(db, author, project, program.operation(), &run.to_string())?;
        RunData::read(db, run)
    })?;
    let taken = taken.ok_or_else(|| Error::internal("a run that was just started is missing"))?;
    record(context, program, run, plan_hash, &taken.generation);
    Ok(Begun { run, holder, is_begun: first.is_some(), taken })
}

/// Returns the first attempt and the deadline of its step. Returns `None` if the step has a condition, if the run needs a
/// secret, or if the step's arguments cannot be filled in. In the last case, running the step reports the error.
fn first(context: &Context, program: &Program, run: Uuid) -> Option<(attempts::Begun, Option<Millis>)> {
    let step = program.steps.first()?;
    if step.condition.is_some() || !step.reads_no_secret() || !program.secret_inputs.is_empty() {
        return None;
    }
    let values = Values::of(program, &context.cancelled).ok()?;
    let (with, body) = values.arguments(step, &Map::new(), &context.cancelled).ok()?;
    let begun = beginning(context, run, step, 0, (&with, body.as_ref()), &mut program.known());
    let until = deadline(step, begun.started_at);
    Some((begun, until))
}

/// Records outside the database that this machine began the run with this plan. The record has the generation of the database,
/// which changes when a backup is restored. Resuming a run without a valid record asks for consent again. A read-only command
/// needs no record.
pub fn record(context: &Context, program: &Program, run: Uuid, plan_hash: &str, generation: &str) {
    if program.only_reads() {
        return;
    }
    let note = json!({ "run": run.to_string(), GENERATION: generation });
    if let Err(error) = context.approved.put_unsynced(Kind::Run, &digest(run, plan_hash), &note) {
        tracing::warn!(%run, %error, "a resume of the run will ask for consent again");
    }
}

/// Returns whether this machine began the run with this plan, the run can still be resumed, and no backup was restored since.
/// Always true for a read-only command.
pub fn is_known(context: &Context, program: &Program, run: Uuid, plan_hash: &str, generation: &str) -> Result<bool> {
    if program.only_reads() {
        return Ok(true);
    }
    let note = context.approved.get(Kind::Run, &digest(run, plan_hash))?;
    Ok(note.is_some_and(|note| note[GENERATION] == generation))
}

/// Deletes the record of a run that has ended and cannot be resumed. The record of a failed run is kept, because it can be
/// retried.
pub fn forget(context: &Context, program: &Program, run: Uuid, plan_hash: &str) {
    if program.only_reads() {
        return;
    }
    if let Err(error) = context.approved.withdraw(Kind::Run, &digest(run, plan_hash)) {
        tracing::warn!(%run, %error, "the note of a run that ended stays");
    }
}

fn digest(run: Uuid, plan_hash: &str) -> String {
    sha256::hex(format!("{run} {plan_hash}").as_bytes())
}
