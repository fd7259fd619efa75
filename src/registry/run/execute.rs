//! Runs a tool: its row, its turn, its sandbox, and what came of it.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use super::bwrap::{OUTPUT, WORKSPACE};
use super::call::{Call, Outcome, OutputFile, Runner};
use super::limits::{OUTPUT_BYTES, OUTPUT_FILES};
use super::plan::{Made, Plan};
use super::record::{self, Asked, Facts};
use super::turns::Turns;
use super::{answer, bubblewrap, env, tree};
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::process::starter::{Ended, Finished, Output, Request};
use crate::process::{Failure, Limits};

/// The turns of all runs of this process.
static TURNS: LazyLock<Arc<Turns>> = LazyLock::new(Turns::of_machine);

/// Runs a tool whose verdict was asked for, and whose arguments fit its schema.
///
/// It may take minutes: what others wait for is given back first.
///
/// # Errors
/// `E_RUNNER_UNAVAILABLE`, `E_TOOL_ENV` before the start; `E_TOOL_FAILED`, `E_TOOL_TIMEOUT`, `E_TOOL_LIMIT`,
/// `E_TOOL_OUTPUT`, `E_CANCELLED`; what keeps its row from being written, in which case nothing runs.
pub fn run(context: &Context, call: &Call) -> Result<Outcome> {
    (context.step_aside)();
    let asked = Asked { tool: &call.tool, action: &call.action, input: &call.input, verdict: &call.verdict };
    let run = record::begin(context, asked)?;
    let mut facts = Facts::default();
    let result = attempt(context, call, &mut facts);
    record::end(context, run, facts, result.as_ref().err());
    result.map(|outcome| Outcome { run, ..outcome })
}

fn attempt(context: &Context, call: &Call, facts: &mut Facts) -> Result<Outcome> {
    let plan = Plan::of(context, call)?;
    if plan.runner == Runner::Wasm {
        return of_module(context, call, &plan, facts);
    }
    bubblewrap::require()?;
    let variables = env::values(&call.tool.name, &call.variables, &plan.set, &context.cancelled)?;
    let tree = tree::of(context, &call.tree)?;
    let made = Made::of(call)?;
    let sandbox = plan.sandbox(call, &tree, &made)?;
    let _turn = TURNS.wait(&context.cancelled)?;
    let request = Request {
        argv: call.argv.clone(),
        variables: variables.values,
        folder: WORKSPACE.to_owned(),
        ceilings: bubblewrap::ceilings(&plan.limits),
        output: Some(Output { folder: OUTPUT.to_owned(), files: OUTPUT_FILES, bytes: OUTPUT_BYTES }),
    };
    facts.runner = Some(plan.runner);
    let begun = Instant::now();
    let cgroup = bubblewrap::cgroup(&plan.limits);
    let limits = Limits::new(plan.limits.time, &context.cancelled);
    let finished = bubblewrap::run(&sandbox, request, cgroup.as_ref(), &limits);
    let finished = finished.map_err(|failure| match failure {
        Failure::NotStarted(error) => bubblewrap::unavailable(&bubblewrap::not_started(&error)),
        Failure::TimedOut => answer::timed_out(&call.tool, &plan.limits),
        Failure::Cancelled => Error::new(Code::Cancelled, format!("{} was cancelled, and ended", call.tool.name)),
        Failure::Lost(error) => {
            Error::new(Code::FileFailed, format!("The sandbox of {} was lost: {error}", call.tool.name))
                .with_source(error)
        }
    })?;
    if !finished.began {
        return Err(bubblewrap::unavailable(&bubblewrap::failure_of(&finished)));
    }
    (facts.stdout, facts.stderr) = (finished.stdout.size(), finished.stderr.size());
    facts.exit_code = match &finished.ended {
        Some(Ended::Exited(code)) => Some(*code),
        _ => None,
    };
    if finished.ended != Some(Ended::Exited(0)) && cgroup.is_some_and(|cgroup| cgroup.ran_out_of_memory()) {
        return Err(answer::reached(&call.tool, "memory", ""));
    }
    outcome(call, plan.runner, finished, &variables.secrets, begun)
}

#[cfg(not(feature = "wasm"))]
fn of_module(_: &Context, call: &Call, _: &Plan, _: &mut Facts) -> Result<Outcome> {
    let why = "this mcpkg was built without the feature `wasm`";
    Err(Error::new(Code::RunnerUnavailable, format!("{} is a WebAssembly module, and {why}", call.tool.name))
        .with_details(serde_json::json!({ "runners": [{ "runner": "wasm", "reason": why }] })))
}

#[cfg(feature = "wasm")]
fn of_module(context: &Context, call: &Call, plan: &Plan, facts: &mut Facts) -> Result<Outcome> {
    use super::wasm::{End, Ran};
    let variables = env::values(&call.tool.name, &call.variables, &plan.set, &context.cancelled)?;
    let _turn = TURNS.wait(&context.cancelled)?;
    facts.runner = Some(plan.runner);
    let begun = Instant::now();
    let Ran { end, stdout, stderr, left } = super::module::run(context, call, &variables.values, plan.limits)?;
    (facts.stdout, facts.stderr) = (stdout.size(), stderr.size());
    let ended = match end {
        End::Exited(code) => Ended::Exited(code),
        End::Trapped(why) | End::NotStarted(why) => Ended::Trapped(why),
        End::OutOfMemory => return Err(answer::reached(&call.tool, "memory", "")),
        End::TimedOut => return Err(answer::timed_out(&call.tool, &plan.limits)),
        End::Cancelled => {
            return Err(Error::new(Code::Cancelled, format!("{} was cancelled, and ended", call.tool.name)));
        }
    };
    if let Ended::Exited(code) = &ended {
        facts.exit_code = Some(*code);
    }
    let finished = Finished {
        ended: Some(ended),
        began: true,
        status: std::process::ExitStatus::default(),
        stdout,
        stderr,
        files: left.files,
        left_out: left.left_out,
    };
    outcome(call, plan.runner, finished, &variables.secrets, begun)
}

fn outcome(call: &Call, runner: Runner, finished: Finished, secrets: &[String], begun: Instant) -> Result<Outcome> {
    let hidden = |text: String| secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), "***"));
    let (stdout, stderr) = (hidden(finished.stdout.text()), hidden(finished.stderr.text()));
    answer::require_success(&call.tool, finished.ended.as_ref(), &stderr)?;
    let is_cut = finished.stdout.is_cut();
    let output = answer::output(&call.tool, call.output_schema.as_ref(), (!is_cut).then_some(&*stdout))?;
    let files = finished.files.into_iter().map(|(path, bytes)| OutputFile { path, bytes }).collect();
    Ok(Outcome {
        run: uuid::Uuid::nil(),
        runner,
        output,
        truncated: is_cut || finished.stderr.is_cut(),
        stdout,
        stderr,
        exit_code: 0,
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        files,
        left_out: finished.left_out,
    })
}
