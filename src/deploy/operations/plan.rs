//! `mcpkg plan`: which files a deploy would create, update or delete.

use schemars::JsonSchema;
use serde::Deserialize;

use super::with_schema;
use crate::deploy::GROUP;
use crate::deploy::plan::budget::{self, Budget, When};
use crate::deploy::plan::prepare::Prepared;
use crate::deploy::plan::show::listed;
use crate::deploy::source::Choice;
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// The arguments that plan, diff and deploy take.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) choice: Choice,
    /// It reads only, with it or without
    #[arg(long, hide = true)]
    #[serde(default)]
    dry_run: bool,
    /// Exit with status 3 where anything would change
    #[arg(long)]
    #[serde(skip)]
    pub(super) check: bool,
}

/// Show what a deploy would change
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ShowPlan {
    #[command(flatten)]
    show: Show,
}

impl Operation for ShowPlan {
    const TOOL: &'static str = "plan";
    const CLI: &'static [&'static str] = &["plan"];
    const TITLE: &'static str = "Plan a deploy";
    const ABOUT: &'static str =
        "Show which files of Codex, Claude Code, Cursor and VS Code a deploy would create, update or delete";
    const HELP: &'static str = "Nothing is written. A file that mcpkg did not write, or that was changed since, \
        needs --adopt. What each agent loads in each session is counted as it will be: instructions with \
        what they import, and the names and descriptions of skills and subagents; tokens are estimated, four bytes each.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg plan", "mcpkg plan --target claude_code --check", "mcpkg plan --repo ~/.agentpack/repo --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = Prepared::new(context, &self.show.choice)?;
        let budgets = budget::of(&prepared, When::After)?;
        let body = Body::Several(vec![listed(&prepared), Body::Sentence(budget::lines(&budgets))]);
        let said = prepared.said_with_plan();
        let mut reply = shown(prepared, body, self.show.check).warn(said);
        reply.data["budget"] = budgets.iter().map(Budget::json).collect();
        Ok(reply.warn(budgets.iter().filter_map(Budget::warning)))
    }
}

/// Returns the reply that shows a plan as `body`.
pub(super) fn shown(prepared: Prepared, body: Body, check: bool) -> Reply {
    let mut reply = Reply::new(body, prepared.data());
    reply.differs = check && !prepared.plan.changes.is_empty();
    let arguments = prepared.site.arguments();
    if prepared.plan.changes.iter().any(|change| change.adopt) {
        let what = "over what mcpkg did not write too; its bytes are kept";
        reply = reply.hint(format!("`mcpkg deploy --apply --adopt{arguments}` does it, {what}"));
    } else if !prepared.plan.changes.is_empty() {
        reply = reply.hint(format!("`mcpkg deploy --apply{arguments}` does it"));
    }
    reply.warn(prepared.warnings)
}
