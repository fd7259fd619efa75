//! `execute`: an agent runs what a person consented to.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::plan::Plan;
use super::{EXECUTE, command, gates, named, plan, reply, resume};
use crate::consent::nonce::Held;
use crate::error::{Code, Error, Result};
use crate::op::{Changes, Context, Effect, Faces, Identity, NoOutput, Operation, Rate, Reply, Shape};
use crate::workflow::GROUP;
use crate::workflow::answer::VERSION;
use crate::workflow::commands::reachable;
use crate::workflow::engine::{Asked, begin};
use crate::workflow::resolve::require;

/// Runs a command.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Execute {
    /// Id of a command
    #[arg(long)]
    command: Option<String>,
    /// Its arguments
    #[arg(skip)]
    args: Option<Map<String, Value>>,
    /// A workflow's text
    #[arg(skip)]
    yaml: Option<String>,
    /// Values of its inputs
    #[arg(skip)]
    inputs: Option<Map<String, Value>>,
    /// Id of a stopped run, to go on with
    #[arg(long)]
    run: Option<String>,
    /// From E_CONSENT_REQUIRED
    #[arg(long)]
    nonce: Option<String>,
    /// Seconds to wait, 50 at most [25]
    #[arg(long)]
    wait_s: Option<u32>,
}

impl Operation for Execute {
    const TOOL: &'static str = EXECUTE;
    const CLI: &'static [&'static str] = &["command", "run"];
    const TITLE: &'static str = "Execute";
    const ABOUT: &'static str = "Run a command by its id, or a workflow; what does more than read mcpkg's own data needs the user's consent: \
        on E_CONSENT_REQUIRED show the user its effects and command, then call again with its nonce";
    const EFFECT: Effect = Effect::Destroy;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const ALWAYS_LISTED: bool = true;
    const LONG: bool = true;
    const MAY_NEED_CONSENT: bool = true;
    const RUNS_COMMANDS: bool = true;
    const RATE: Option<Rate> = Some(Rate::SELDOM);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Tool;
    type Output = NoOutput;

    fn subject(&self) -> String {
        [&self.command, &self.run].into_iter().flatten().next().cloned().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let until = reply::until(gates::wait(self.wait_s)?);
        let held = |wait| self.nonce.as_deref().map_or(Held::Nothing, |nonce| Held::Nonce(nonce, wait));
        let left = || until.saturating_duration_since(Instant::now());
        self.check()?;
        match (&self.command, &self.yaml, &self.run) {
            (Some(id), _, _) => {
                let spec = require(&reachable(context), id)?;
                let with = self.args.clone().unwrap_or_default();
                // What the server answers as a tool too. A contract's own server shows no other tool, and asks always.
                if plan::is_own_read(&spec) && context.caller.identity() != Identity::Assistant {
                    return command::read(context, &spec, with);
                }
                gates::policy(context)?;
                run(context, plan::of_spec(context, spec, with)?, held(left()), until)
            }
            (_, Some(text), _) => {
                gates::policy(context)?;
                let plan = plan::of_text(context, text, self.inputs.clone().unwrap_or_default())?;
                run(context, plan, held(left()), until)
            }
            (_, _, Some(id)) => {
                gates::policy(context)?;
                resume::for_agent(context, &named(context, id)?, held(left()), until)
            }
            (None, None, None) => Err(which()),
        }
    }
}

impl Execute {
    /// Refuses arguments that do not belong together: nothing that is said is passed over.
    fn check(&self) -> Result<()> {
        let said = [self.command.is_some(), self.yaml.is_some(), self.run.is_some()];
        let is_one = said.iter().filter(|said| **said).count() == 1;
        let belongs = (self.args.is_none() || self.command.is_some()) && (self.inputs.is_none() || self.yaml.is_some());
        if is_one && belongs { Ok(()) } else { Err(which()) }
    }
}

fn which() -> Error {
    let takes = "execute takes one of `command` with `args`, `yaml` with `inputs`, and `run`";
    Error::new(Code::InvalidArgument, takes).hint("search_commands finds commands, list_runs runs")
}

/// Runs a plan, once a person has consented to it.
///
/// # Errors
/// As [`gates::consent`], [`begin`] and [`reply::carry`].
pub fn run(context: &Context, plan: Plan, held: Held<'_>, until: Instant) -> Result<Reply> {
    let consent = gates::consent(context, &plan, held)?;
    let Plan { program, definition, hash, .. } = &plan;
    let begun = begin(context, Asked { program, definition, plan_hash: hash }, &consent)?;
    reply::carry(context, plan, begun, until)
}
