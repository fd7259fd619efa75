//! `execute`: runs a command or workflow for an agent, with a person's consent.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::plan::Plan;
use super::start::{self, start};
use super::wanted::{self, Wanted};
use super::{EXECUTE, command, gates, named, plan, resume};
use crate::GROUP;
use crate::answer::VERSION;
use crate::commands::reachable;
use crate::operations::is_own_read;
use crate::resolve::require;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::quote;
use mcpkg_base::redact::redact;
use mcpkg_core::consent::nonce::CallerNonce;
use mcpkg_core::consent::request::REASON;
use mcpkg_core::note;
use mcpkg_core::op::{Changes, Context, Domains, Effect, Faces, Identity, NoOutput, Operation, Rate, Reply, Shape};

/// Runs a command.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Execute {
    /// Id of a command
    #[arg(long)]
    command: Option<String>,
    /// The command's arguments
    #[arg(skip)]
    args: Option<Map<String, Value>>,
    /// Name of a saved workflow
    #[arg(long)]
    workflow: Option<String>,
    /// A workflow's text
    #[arg(skip)]
    yaml: Option<String>,
    /// Id of a draft
    #[arg(long)]
    draft_id: Option<String>,
    /// Input values by name
    #[arg(skip)]
    inputs: Option<Map<String, Value>>,
    /// Run only this step
    #[arg(long)]
    step: Option<String>,
    /// Outputs of other steps, by step id
    #[arg(skip)]
    step_outputs: Option<Map<String, Value>>,
    /// The stopped run to resume. With `step`, the run whose outputs to use
    #[arg(long)]
    run: Option<String>,
    /// Nonce of E_CONSENT_REQUIRED
    #[arg(long)]
    nonce: Option<String>,
    /// Why, for the user
    #[arg(long)]
    reason: Option<String>,
    /// Seconds to wait (at most 50) [default: 25]
    #[arg(long)]
    wait_s: Option<u32>,
}

impl Operation for Execute {
    const TOOL: &'static str = EXECUTE;
    const CLI: &'static [&'static str] = &["command", "run"];
    const TITLE: &'static str = "Execute";
    const ABOUT: &'static str = "Run a workflow or command. Anything beyond reading mcpkg's own data needs the user's consent: on \
        E_CONSENT_REQUIRED show the user the error's effects and command, then call again with the error's nonce";
    const EFFECT: Effect = Effect::Destroy;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const ALWAYS_LISTED: bool = true;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const RUNS_COMMANDS: bool = true;
    const RATE: Option<Rate> = Some(Rate::SELDOM);
    const READS: fn(Domains, &Map<String, Value>) -> bool = |domains, arguments| {
        let command = arguments.get("command").and_then(Value::as_str);
        command.is_some_and(|command| is_own_read(domains, command))
    };
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Tool;
    type Output = NoOutput;

    fn subject(&self) -> String {
        [&self.command, &self.workflow, &self.draft_id, &self.run]
            .into_iter()
            .flatten()
            .next()
            .cloned()
            .unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let until = start::until(gates::wait(self.wait_s)?);
        let held = |wait| self.nonce.as_deref().map_or(CallerNonce::Nothing, |nonce| CallerNonce::Nonce(nonce, wait));
        let left = || until.saturating_duration_since(Instant::now());
        self.check()?;
        if let Some(id) = &self.command {
            let spec = require(&reachable(context), id)?;
            let with = self.args.clone().unwrap_or_default();
            // A command that only reads mcpkg's own data needs no consent. But a server that runs as `assistant` (contract 004)
            // always asks.
            if plan::is_own_read(&spec) && context.caller.identity() != Identity::Assistant {
                return command::read(context, &spec, with);
            }
            gates::policy(context)?;
            let plan = self.with_reason(plan::of_spec(context, spec, with)?)?;
            return start(context, plan, held(left()), until);
        }
        gates::policy(context)?;
        match (&self.run, &self.step) {
            (Some(id), None) => {
                let with_reason = |plan| self.with_reason(plan);
                resume::for_agent(context, &named(context, id)?, with_reason, held(left()), until)
            }
            _ => start(context, self.with_reason(self.wanted(context)?.plan(context)?)?, held(left()), until),
        }
    }
}

impl Execute {
    /// Refuses arguments that contradict each other. If some of them were ignored, something other than the agent expects would
    /// run.
    fn check(&self) -> Result<()> {
        let texts = [self.workflow.is_some(), self.yaml.is_some(), self.draft_id.is_some()];
        let texts = texts.into_iter().filter(|said| *said).count();
        let has_step = self.step.is_some();
        let is_workflow = texts == 1 || texts == 0 && has_step && self.run.is_some();
        let whole = [self.command.is_some(), is_workflow, self.run.is_some() && !has_step];
        let is_one = texts <= 1 && whole.into_iter().filter(|said| *said).count() == 1;
        let belongs = (self.args.is_none() || self.command.is_some())
            && (is_workflow || self.inputs.is_none() && !has_step)
            && (has_step || self.step_outputs.is_none());
        if is_one && belongs { Ok(()) } else { Err(which()) }
    }

    /// Adds the agent's reason to what a person sees of a plan. The hash of the plan does not cover the reason, so that the
    /// same call with a different reason needs no new consent.
    fn with_reason(&self, mut plan: Plan) -> Result<Plan> {
        let reason = note::checked_as("reason", self.reason.as_deref())?;
        plan.effects.extend(reason.map(|reason| format!("{REASON}{}", quote::text(&redact(reason)))));
        Ok(plan)
    }

    /// Returns the requested workflow, or one step of it.
    fn wanted(&self, context: &Context) -> Result<Wanted> {
        let text = match (&self.workflow, &self.draft_id, &self.yaml) {
            (Some(name), _, _) => wanted::saved(context, name)?,
            (_, Some(id), _) => wanted::drafted(context, id)?,
            (_, _, text) => text.clone().unwrap_or_default(),
        };
        let whole = Wanted::of_text(text, self.inputs.clone().unwrap_or_default());
        let Some(step) = &self.step else { return Ok(whole) };
        let run = self.run.as_deref().map(|id| named(context, id)).transpose()?;
        whole.step(context, step, self.step_outputs.clone().unwrap_or_default(), run.as_ref())
    }
}

fn which() -> Error {
    let takes = "Pass exactly one of these to execute: `command` (with `args`); `workflow`, `yaml` or `draft_id` (with `inputs`); or \
        `run`. To run a single step, also pass `step`, with `step_outputs` or the `run` that has the outputs";
    Error::new(Code::InvalidArgument, takes)
        .hint("`mcpkg command search` finds commands, `mcpkg workflow list` lists workflows, `mcpkg workflow runs` lists runs")
}
