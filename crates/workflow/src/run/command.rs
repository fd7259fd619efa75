//! `mcpkg command run`: runs a single command.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{self, Typed};
use super::start::start;
use super::{gates, plan};
use crate::GROUP;
use crate::answer::VERSION;
use crate::commands::{self, reachable};
use crate::completions::IDS;
use crate::resolve::require;
use crate::running::Running;
use crate::spec::CommandSpec;
use mcpkg_base::error::Result;
use mcpkg_core::consent::nonce::CallerNonce;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Runs a command.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Run {
    /// Id of the command
    #[arg(value_name = "ID", add = IDS)]
    id: String,
    /// Argument of the command, as text or JSON depending on the argument's type; if the argument can be either, mcpkg
    /// tries JSON first. For a secret, give a reference
    #[arg(short, long, value_name = "NAME=VALUE")]
    #[serde(skip)]
    arg: Vec<Typed>,
    /// Show what would run, without running it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Run {
    const TOOL: &'static str = "run_command";
    const CLI: &'static [&'static str] = &["command", "run"];
    const TITLE: &'static str = "Run a command";
    const ABOUT: &'static str = "Run a command of any source, after showing what the command does";
    const HELP: &'static str = "Shows what the command does, and asks before running it unless it is one of mcpkg's own read-only \
        commands. Without a terminal, --yes answers the question. --yes does not confirm API commands that change something: approve \
        such a command with `mcpkg consent approve`. After a run, `mcpkg workflow runs` shows the result and what was sent.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg command run mcpkg:prompt:list", "mcpkg command run apps:create --arg name=web --arg region=eu"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let spec = require(&reachable(context), &self.id)?;
        let with = arguments::read(&spec, &self.arg)?;
        if plan::is_own_read(&spec) && !self.dry_run {
            return read(context, &spec, with);
        }
        gates::policy(context)?;
        let plan = plan::of_spec(context, spec, with)?;
        if self.dry_run {
            let lines: Vec<String> = plan.effects.iter().map(|line| format!("{line}\n")).collect();
            let data = json!({ "command": plan.program.name, "plan_hash": plan.hash, "effects": plan.effects });
            return Ok(Reply::new(Body::Text(lines.concat()), data));
        }
        start(context, plan, CallerNonce::Nothing, Instant::now())
    }
}

/// Runs one of mcpkg's own read-only commands directly. No run is recorded.
pub fn read(context: &Context, spec: &CommandSpec, with: serde_json::Map<String, serde_json::Value>) -> Result<Reply> {
    arguments::check(context, spec, &with)?;
    let running = Running { spec, with: &with, body: None, key: None };
    let answered = commands::run(context, &running).map_err(|failed| failed.error)?;
    let body = match context.is_shell() {
        true => Body::Text(format!("{:#}\n", answered.output)),
        false => Body::Text(String::new()),
    };
    Ok(Reply::new(body, json!({ "command": spec.id, "state": "succeeded", "final_output": answered.output })))
}
