//! `mcpkg plan`: shows which files a deploy would create, update or delete.

use schemars::JsonSchema;
use serde::Deserialize;

use super::with_schema;
use crate::GROUP;
use crate::answer::{self, Page, Rest};
use crate::desired::remark::Remark;
use crate::plan::Change;
use crate::plan::audit;
use crate::plan::budget::{self, Budget};
use crate::plan::prepare::Prepared;
use crate::plan::show::listed;
use crate::source::{Choice, Only};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Identity, NoOutput, Operation, Reply, Shape};

/// The arguments of `plan`, `diff` and `preview`.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) page: Page,
    /// Accepted for compatibility; this command never writes files
    #[arg(long, hide = true)]
    #[serde(default)]
    dry_run: bool,
    /// Exit with status 3 if anything would change
    #[arg(long)]
    #[serde(skip)]
    pub(super) check: bool,
}

/// Returns a hint with the command that writes these changes.
pub(super) fn how_to_write(changes: &[Change], arguments: &str) -> String {
    if !changes.iter().any(|change| change.adopt) {
        return format!("write it with `mcpkg deploy --apply{arguments}`");
    }
    let what = "this command also overwrites files that mcpkg did not write, and keeps their old content";
    format!("write it with `mcpkg deploy --apply --adopt{arguments}`; {what}")
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
    const HELP: &'static str = "Planning writes nothing. To deploy over a file that mcpkg did not write, or that changed after mcpkg \
        wrote it, you need --adopt. The plan also shows how much text each agent loads per session, before and after the deploy. This text \
        includes instructions with their imports, and the names and descriptions of skills and subagents. mcpkg estimates one token for \
        every four bytes.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg plan", "mcpkg plan --target claude_code --check", "mcpkg plan --repo ~/.agentpack/repo --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const ADDED: &'static str = r#"{ "cursor": { "type": "string" }, "hashes": { "type": "boolean" }, "only": { "type": "array", "items": { "type": "string" } } }"#;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = self.show.prepared(context)?;
        let (changes, rest) = self.show.listed(context, &prepared)?;
        // What agents will load is known only if the whole project is planned.
        let budgets = match prepared.site.only.is_empty() {
            true => budget::after(&prepared)?,
            false => Vec::new(),
        };
        let body = Body::Several(vec![listed(&prepared, changes), Body::Sentence(budget::lines(&budgets))]);
        let mut reply = Reply::new(body, prepared.data(changes));
        answer::add_rest(&mut reply, rest, Self::TOOL);
        reply.data["budget"] = budgets.iter().map(Budget::json).collect();
        let budgets = budgets.iter().filter_map(Budget::warning);
        let findings = audit::lines(context, &prepared.plan.changes, &prepared.site);
        let remarks = &prepared.plan.desired.remarks;
        if !remarks.is_empty() && context.caller.identity() != Identity::Agentpack {
            reply.data["remarks"] = remarks.iter().map(Remark::json).collect();
        }
        let said: Vec<String> = prepared.said_with_plan().into_iter().chain(budgets).chain(findings).collect();
        Ok(self.show.shown(context, &prepared, reply, said))
    }
}

impl Show {
    pub(super) fn prepared(&self, context: &Context) -> Result<Prepared> {
        Prepared::new(context, &self.only.of(&self.choice))
    }

    pub(super) fn listed<'p>(&self, context: &Context, prepared: &'p Prepared) -> Result<(&'p [Change], Option<Rest>)> {
        self.page.of(context, &prepared.site.place.root, &prepared.plan.changes, |change| &change.path)
    }

    /// Adds warnings, remarks and the next steps to the reply that shows a plan.
    pub(super) fn shown(&self, context: &Context, prepared: &Prepared, reply: Reply, said: Vec<String>) -> Reply {
        let (changes, arguments) = (&prepared.plan.changes, prepared.site.arguments());
        let mut reply = reply.warn(prepared.warnings.iter().cloned()).warn(said);
        reply.details = prepared.details();
        reply.differs = self.check && !changes.is_empty();
        if !changes.is_empty() {
            reply = reply.hint(how_to_write(changes, &arguments));
        }
        answer::reply(context, &prepared.site, &self.page, reply)
    }
}
