//! Starts a run, carries it out, and builds the reply to its caller: its output, or else its state.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::plan::Plan;
use super::{changes, gates};
use crate::api::call::next_step;
use crate::runner::report::{self, Detail};
use crate::runner::resume::{goes_on, missing, uncertain};
use crate::runner::{Begun, RunRequest, begin, drive, follow};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::nonce::CallerNonce;
use mcpkg_core::op::{Body, Context, Reply, cell};
use mcpkg_store::runs::steps::{self, Step};
use mcpkg_store::runs::{self, Run, State, StepState, attempts};

/// Runs a plan after a person has consented to it. An agent gets the state of the run at `until` at the latest.
pub fn start(context: &Context, plan: Plan, held: CallerNonce<'_>, until: Instant) -> Result<Reply> {
    let consent = gates::consent(context, &plan, held)?;
    let record = changes::record(&plan);
    let asked = RunRequest { program: &plan.program, definition: &record, plan_hash: &plan.hash };
    let begun = begin(context, asked, &consent)?;
    carry(context, plan, begun, until)
}

/// Carries out a run, and returns its state. A shell gets the state when the run stops; an agent gets it at `until` at the
/// latest.
///
/// # Errors
/// `E_STEP_FAILED` or `E_STEP_UNCERTAIN` if the run ended that way; `E_CANCELLED` if the call was cancelled and the run is
/// interrupted.
pub fn carry(context: &Context, plan: Plan, begun: Begun, until: Instant) -> Result<Reply> {
    let run = begun.run;
    (context.began)(run);
    (context.step_aside)();
    match context.is_shell() {
        true => drive(context, &plan.program, begun)?,
        false => {
            let wait = until.saturating_duration_since(Instant::now());
            let program = plan.program;
            follow(context, run, wait, move |alone| {
                if let Err(error) = drive(alone, &program, begun) {
                    tracing::warn!(%run, %error, "a run could not note how far it is; it is interrupted");
                }
            })?;
        }
    }
    of(context, run)
}

pub fn until(wait: Duration) -> Instant {
    Instant::now() + wait
}

fn of(context: &Context, run: Uuid) -> Result<Reply> {
    let (run, data) = context.store.read(|db| {
        let run = runs::get(db, run)?.ok_or_else(|| missing(&run.to_string()))?;
        let state = report::state(&context.store, &run);
        let data = report::whole(db, &run, state, Detail::Steps)?;
        Ok((Run { state, ..run }, Value::Object(data)))
    })?;
    let id = run.uuid;
    match run.state {
        State::Failed => Err(failed(context, &run)?),
        State::Uncertain => {
            let step = first(context, &run, StepState::Uncertain)?.map_or_else(String::new, |step| step.name);
            Err(uncertain(id, &step))
        }
        State::Interrupted if context.is_cancelled() => {
            Err(Error::new(Code::Cancelled, format!("Canceled; run {id} is interrupted")).hint(format!(
                "continue the run with `mcpkg workflow resume {id}`, or end the run with `mcpkg workflow cancel {id}`"
            )))
        }
        state => {
            let reply = Reply::new(body(context, &run, &data), data);
            // At a shell, it is a failure if the run stopped early.
            let failed = context.is_shell() && matches!(state, State::Canceled | State::Paused | State::Interrupted);
            let reply = Reply { failed, ..reply };
            let reply = match first(context, &run, StepState::Uncertain)? {
                Some(Step { name, .. }) => reply.warn([format!("it is unknown whether step '{name}' did its work")]),
                None => reply,
            };
            Ok(match state {
                State::Succeeded | State::Canceled => reply,
                State::Paused | State::Interrupted => {
                    reply.hint(format!("continue the run with `mcpkg workflow resume {id}`"))
                }
                _ => going_on(context, reply, id),
            })
        }
    }
}

/// Adds the hint that says how to follow a run that has not ended. The hint is in the JSON: only agents can get a reply this
/// early, and they read the JSON.
fn going_on(context: &Context, mut reply: Reply, run: Uuid) -> Reply {
    reply.data["hint"] = json!(goes_on(context, run));
    reply
}

/// Formats the run for people: its output, or else its state.
fn body(context: &Context, run: &Run, data: &Value) -> Body {
    if !context.is_shell() {
        return Body::Text(String::new());
    }
    match (run.state, data.get("final_output")) {
        (State::Succeeded, Some(Value::String(text))) => Body::Text(format!("{text}\n")),
        // If a command returns nothing but text, show the text.
        (State::Succeeded, Some(Value::Object(output)))
            if output.len() == 1 && output.get("text").is_some_and(Value::is_string) =>
        {
            let text = output["text"].as_str().unwrap_or_default();
            Body::Text(format!("{}\n", text.trim_end_matches('\n')))
        }
        (State::Succeeded, Some(output)) if !output.is_null() => Body::Text(format!("{output:#}\n")),
        _ => Body::Sentence(format!("Run {} is {}", run.uuid, run.state.word())),
    }
}

fn failed(context: &Context, run: &Run) -> Result<Error> {
    let step = first(context, run, StepState::Failed)?;
    let why = step.as_ref().map_or(&run.reason, |step| &step.reason).as_deref().unwrap_or_default();
    let answer = step.as_ref().map(|step| answer(context, run, step)).transpose()?.flatten();
    let (status, excerpt) = answer.unzip();
    let said = excerpt.as_deref().map(|excerpt| format!(": {}", cell(excerpt))).unwrap_or_default();
    let name = step.as_ref().map(|step| &step.name);
    let what = match (name, run.kind) {
        (Some(step), runs::Kind::Workflow) => format!("Step '{step}' of {} failed: {why}{said}", run.name),
        _ => format!("{} failed: {why}{said}", run.name),
    };
    let code = why.split_once(": ").map(|(code, _)| code).filter(|code| code.starts_with("E_"));
    let mut details = json!({ "run": run.uuid.to_string(), "step": name, "code": code });
    if let (Some(status), Some(excerpt)) = (status, excerpt) {
        (details["status"], details["excerpt"]) = (json!(status), json!(excerpt));
        if let Some(step) = u16::try_from(status).ok().and_then(next_step) {
            details["next_step"] = json!(step);
        }
    }
    let error = Error::new(Code::StepFailed, what)
        .with_details(details)
        .hint(format!("`mcpkg workflow runs {}` shows each attempt", run.uuid));
    Ok(match context.is_shell() && run.kind == runs::Kind::Workflow && step.is_some() {
        true => error.hint(format!("retry from this step with `mcpkg workflow resume {} --retry`", run.uuid)),
        false => error,
    })
}

/// Returns the status and an excerpt of the API's answer to the last attempt at a step, if it failed.
fn answer(context: &Context, run: &Run, step: &Step) -> Result<Option<(i64, String)>> {
    let last = context.store.read(|db| attempts::last(db, run.id, step.seq))?;
    let ended = last.and_then(|last| last.ended);
    // If the body was empty, the excerpt only repeats the reason.
    let ended = ended.filter(|ended| ended.bytes.is_some_and(|bytes| bytes > 0) && ended.outcome != "ok");
    Ok(ended.and_then(|ended| Some((ended.status?, ended.excerpt?))))
}

fn first(context: &Context, run: &Run, state: StepState) -> Result<Option<Step>> {
    let rows = context.store.read(|db| steps::of(db, run.id))?;
    Ok(rows.into_iter().find(|row| row.state == state))
}
