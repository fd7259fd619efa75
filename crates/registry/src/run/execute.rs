//! Runs a tool: records the run, waits for a free slot, starts the runner, and returns the result.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use super::beat::Beat;
use super::call::{Call, Outcome, OutputFile};
use super::call_files::CallFiles;
use super::choose::{choose, unavailable};
use super::permits::Permits;
use super::plan::Plan;
use super::record::{self, Facts, RunDetails, UnderWay};
use super::runner::{Job, NotRun, Ran, Runner, Takes};
use super::{answer, build, env};
use mcpkg_base::error::Result;
use mcpkg_base::process::starter::{Ended, Left};
use mcpkg_base::process::{Printed, utf16};
use mcpkg_base::redact::{Secrets, hide_in, redact, redact_at_cut};
use mcpkg_core::op::Context;

/// Limits how many tools this process runs at the same time.
static PERMITS: LazyLock<Arc<Permits>> = LazyLock::new(Permits::of_machine);

/// Runs a tool. The caller has already checked the verdict and the arguments.
///
/// A run may take minutes, so resources that others wait for are released first.
///
/// # Errors
/// Before the start `E_RUNNER_UNAVAILABLE`, `E_IMAGE_MISSING` and `E_TOOL_ENV`, among others. After the start
/// `E_TOOL_FAILED`, `E_TOOL_TIMEOUT`, `E_TOOL_LIMIT`, `E_TOOL_OUTPUT` and `E_CANCELLED`.
pub fn run(context: &Context, call: &Call) -> Result<Outcome> {
    (context.step_aside)();
    let asked = RunDetails { tool: &call.tool, action: &call.action, input: &call.input, verdict: call.verdict.word() };
    let run = UnderWay::of(context, asked)?;
    let mut facts = Facts::default();
    let result = attempt(context, call, &run, &mut facts);
    record::end(context, &run, facts, result.as_ref().err());
    result.map(|outcome| Outcome { run: run.id, ..outcome })
}

fn attempt(context: &Context, call: &Call, run: &UnderWay, facts: &mut Facts) -> Result<Outcome> {
    let plan = Plan::of(context, call)?;
    let runner = choose(plan.wanted(context, call))?;
    plan.check_folders(&call.tool)?;
    let variables = env::values(&call.tool.name, &call.variables, &plan.set, &context.cancelled)?;
    let tree = match runner.needs_tree() {
        true => build::tree(context, call, &plan)?,
        false => PathBuf::new(),
    };
    let files = CallFiles::of(call, runner.needs_scratch())?;
    let _permit = PERMITS.wait(&context.cancelled)?;
    facts.runner = Some(runner.kind());
    let begun = Instant::now();
    let beat = Beat::begin(context, &call.tool.name, &variables.secrets);
    let ran = runner.run(Job {
        argv: &call.argv,
        variables: &variables.values,
        tree: &tree,
        given: &files.given,
        scratch: files.scratch(),
        granted: &plan.granted,
        limits: plan.limits,
        takes: Takes::Output,
        cancelled: &context.cancelled,
        told: Some(beat.tell()),
        // The run is recorded while the sandbox is being set up. The tool starts only after the record is written.
        before: Some(run.note(context)),
    });
    drop(beat);
    if let Some(refusal) = run.refusal() {
        return Err(refusal);
    }
    let ran = ran.map_err(|why| match why {
        NotRun::Unavailable(why) => unavailable(call, runner.kind(), why),
        NotRun::TimedOut => answer::timed_out(&call.tool, &plan.limits, call.limits.time_is_callers),
        why => answer::not_run(&call.tool, &plan.limits, why),
    })?;
    (facts.stdout, facts.stderr) = (ran.stdout.size(), ran.stderr.size());
    facts.exit_code = match &ran.ended {
        Some(Ended::Exited(code)) => Some(*code),
        _ => None,
    };
    if let Some(limit) = ran.reached {
        return Err(answer::reached(&call.tool, limit, ""));
    }
    outcome(context, call, &*runner, ran, &variables.secrets, begun)
}

fn outcome(
    context: &Context,
    call: &Call,
    runner: &dyn Runner,
    ran: Ran,
    secrets: &Secrets,
    begun: Instant,
) -> Result<Outcome> {
    // The secrets that the tool was given are hidden from everybody. From an agent, everything that looks like a secret
    // is hidden too. A person sees it, because a tool may print a new key for its user.
    let is_for_agent = !context.is_shell();
    let safe = |text: &str| if is_for_agent { redact(text) } else { text.to_owned() };
    let hidden = |printed: &Printed| {
        printed.text_by(
            |text| safe(&secrets.hidden_in(&text)),
            |head, tail| {
                let (head, tail) = secrets.hidden_at_cut(head, tail);
                if is_for_agent { redact_at_cut(&head, &tail) } else { (head, tail) }
            },
        )
    };
    let (stdout, stderr) = (hidden(&ran.stdout), hidden(&ran.stderr));
    answer::require_success(&call.tool, ran.ended.as_ref(), &stderr)?;
    let is_cut = ran.stdout.is_cut();
    let printed = (!is_cut).then_some(&*stdout);
    let mut output = answer::output(&call.tool, call.output_schema.as_ref(), printed, secrets)?;
    if is_for_agent {
        output.as_mut().map(hide_in);
    }
    let files = ran.files.into_iter().filter_map(|left| match left {
        Left::File { path, bytes, .. } => Some(OutputFile { path, bytes }),
        Left::Link { .. } => None,
    });
    let (mut files, left_out) = answer::without_secrets(files, ran.left_out, secrets);
    for file in files.iter_mut().filter(|_| is_for_agent) {
        let text = utf16(&file.bytes).or_else(|| String::from_utf8(file.bytes.clone()).ok());
        if let Some(hidden) = text.map(|text| (safe(&text), text)).filter(|(hidden, text)| hidden != text) {
            file.bytes = hidden.0.into_bytes();
        }
    }
    Ok(Outcome {
        run: uuid::Uuid::nil(),
        runner: runner.kind(),
        image: runner.image().map(str::to_owned),
        unlimited: ran.unlimited,
        output,
        truncated: is_cut || ran.stderr.is_cut(),
        stdout,
        stderr,
        exit_code: 0,
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        files,
        left_out,
    })
}
