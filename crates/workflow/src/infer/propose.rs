//! `mcpkg draft infer`: makes a workflow from runs, and proposes it as a draft.

use schemars::JsonSchema;
use serde::Deserialize;

use super::operation::inferred;
use super::recorded::Logged;
use crate::GROUP;
use crate::answer::VERSION;
use crate::draft::add::Add;
use crate::run::RUNS;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows;

/// Propose a workflow from runs
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Propose {
    /// Runs to make the workflow from, in order
    #[arg(value_name = "RUN", required = true, add = RUNS)]
    runs: Vec<String>,
    /// Name of the workflow [default: session, or a free name that begins with it]
    #[arg(long)]
    name: Option<String>,
}

impl Operation for Propose {
    const TOOL: &'static str = "propose_from_runs";
    const CLI: &'static [&'static str] = &["draft", "infer"];
    const TITLE: &'static str = "Propose a workflow from runs";
    const ABOUT: &'static str = "Make a workflow from commands that were run, and propose it as a draft";
    const HELP: &'static str = "`mcpkg workflow infer` prints the same workflow without storing it, and its help explains how \
        mcpkg makes it. `mcpkg workflow runs` lists the runs.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg draft infer 3f2a1b4c5d6e 9a8b7c6d5e4f --name app_with_db"];
    const EFFECT: Effect = Effect::Create;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = self.name.map_or_else(|| free(context), Ok)?;
        let log: Vec<Logged> = self.runs.into_iter().map(Logged::Id).collect();
        let (draft, yaml) = inferred(context, &name, &log, None)?;
        let proposed = Add::of(yaml).run(context)?;
        Ok(proposed.warn(draft.diagnostics.iter().map(super::operation::line)))
    }
}

/// Returns a name that no saved workflow has: `session`, `session_2` and so on.
fn free(context: &Context) -> Result<String> {
    let usual = super::operation::USUAL;
    let taken = context.store.read(|db| workflows::names(db, &context.selection, usual, usize::MAX))?;
    let numbered = (2..).map(|number: usize| format!("{usual}_{number}"));
    let mut names = std::iter::once(usual.to_owned()).chain(numbered);
    Ok(names.find(|name| !taken.contains(name)).unwrap_or_else(|| usual.to_owned()))
}
