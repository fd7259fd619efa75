//! `mcpkg deploy`: shows a plan with a confirm token, and applies exactly that plan.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::applying::{self, Applying, Gate, applied_data};
use super::gates::unconfirmed;
use crate::GROUP;
use crate::answer::{self, Page};
use crate::confirm;
use crate::operations::with_schema;
use crate::plan::audit;
use crate::plan::prepare::Prepared;
use crate::plan::show;
use crate::source::{Adopt, Choice, Only, adopt};
use mcpkg_base::clock;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::{Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Plan a deploy and give the token that confirms it
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Deploy {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    #[command(flatten)]
    #[serde(flatten)]
    page: Page,
    /// Accepted for compatibility; this command never writes files
    #[serde(default)]
    #[arg(long)]
    dry_run: bool,
}

impl Operation for Deploy {
    const TOOL: &'static str = "deploy";
    const CLI: &'static [&'static str] = &["deploy"];
    const TITLE: &'static str = "Deploy: show the plan";
    const ABOUT: &'static str = "Show what a deploy would write for the agents, and return the confirm_token that deploy_apply needs to \
        apply exactly this plan";
    const EFFECT: Effect = Effect::Offer;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const ADDED: &'static str = r#"{ "only": { "type": "array", "items": { "type": "string" } } }"#;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Tool;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        offer(context, &self.only.of(&self.choice), &self.page)
    }
}

/// Shows the plan with a confirm token. The token comes first, because some clients cut long answers. If the plan
/// fails, no token is issued.
fn offer(context: &Context, choice: &Choice, page: &Page) -> Result<Reply> {
    let prepared = Prepared::new(context, choice)?;
    let mut warnings = prepared.warnings.clone();
    let (listed, rest) = page.of(context, &prepared.site.place.root, &prepared.plan.changes, |change| &change.path)?;
    let planned = applied_data(false, None, &prepared, listed);
    let summary = format!("Write to {}", prepared.site.destination());
    let mut data = json!({});
    match confirm::issue(context, prepared.site.project_name(), &prepared.site.inputs(), &prepared.hash, &summary) {
        Ok(issued) => {
            data["confirm_token"] = json!(issued.token);
            data["confirm_plan_hash"] = json!(prepared.hash);
            data["confirm_token_expires_at"] = json!(clock::rfc3339(issued.expires_at));
        }
        // If the disk is full or read-only, or the caller may only read, the plan can be shown but not confirmed.
        Err(error) if matches!(error.code(), Code::ReadOnly | Code::DiskFull | Code::MayOnlyRead) => {
            warnings.push(format!("cannot create a confirm token: {error}"));
        }
        Err(error) => return Err(error),
    }
    data["summary"] = planned["summary"].clone();
    if let (Some(data), Value::Object(planned)) = (data.as_object_mut(), planned) {
        data.extend(planned);
    }
    let mut reply = Reply::new(show::listed(&prepared, listed), data);
    answer::add_rest(&mut reply, rest, "plan");
    if context.is_shell() && !prepared.plan.changes.is_empty() {
        reply = reply.hint(super::plan::how_to_write(&prepared.plan.changes, &prepared.site.arguments()));
    }
    let mut said = prepared.said_with_plan();
    said.extend(audit::lines(context, &prepared.plan.changes, &prepared.site));
    let mut reply = reply.warn(warnings).warn(said);
    reply.details = prepared.details();
    Ok(answer::reply(context, &prepared.site, page, reply))
}

/// Apply a plan that was confirmed
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct DeployApply {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    /// Overwrite and delete files that mcpkg did not write, or that were changed after mcpkg wrote them
    #[arg(long)]
    #[serde(default)]
    adopt: bool,
    /// Like adopt, for these files alone
    #[arg(long)]
    #[serde(default)]
    adopt_paths: Vec<PathBuf>,
    /// Check everything, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// The confirm_token that deploy returned
    #[arg(long)]
    confirm_token: Option<String>,
    /// Confirm that files may be written
    #[arg(long)]
    #[serde(default)]
    yes: bool,
}

impl Operation for DeployApply {
    const TOOL: &'static str = applying::TOOL;
    const CLI: &'static [&'static str] = &["deploy"];
    const TITLE: &'static str = "Deploy: apply the plan";
    const ABOUT: &'static str = "Write the agents' files exactly as in the confirmed plan; needs yes and the confirm_token that deploy \
        returned";
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("deploy_apply");
    const ADDED: &'static str = r#"{
        "only": { "type": "array", "items": { "type": "string" } },
        "adopt_paths": { "type": "array", "items": { "type": "string" } }
    }"#;
    const MAY_NEED_CONSENT: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Tool;
    type Output = NoOutput;

    fn command(&self) -> String {
        "deploy --apply".to_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        // Contract 000: check the confirmation before anything else, even for a dry run.
        if !self.yes {
            return Err(unconfirmed("deploy --apply"));
        }
        let token = self.confirm_token.filter(|token| !token.trim().is_empty());
        let gate = match token {
            Some(token) => Gate::Token(token),
            None if self.dry_run => Gate::Open,
            None if context.elicit.is_some() => Gate::Person,
            None => return Err(confirm::missing()),
        };
        let (choice, adopt) = (self.only.of(&self.choice), Adopt::of_tool(self.adopt, self.adopt_paths));
        Applying { choice: &choice, adopt, dry_run: self.dry_run, gate }.run(context)
    }
}

/// Deploy to the agents' folders
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct DeployShell {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Write the files; without --apply, deploy only shows the plan (with --json, also a confirm token)
    #[arg(long)]
    #[serde(default)]
    apply: bool,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    /// Overwrite and delete files that mcpkg did not write, or that changed after mcpkg wrote them; mcpkg keeps the old content.
    /// With PATH, only these files
    #[arg(long, value_name = "PATH", num_args = 0..)]
    #[serde(default, deserialize_with = "adopt")]
    adopt: Option<Vec<PathBuf>>,
    /// Check everything, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Apply only the plan for which this confirm token was issued
    #[arg(long, value_name = "TOKEN", requires = "apply")]
    confirm_token: Option<String>,
    /// Exit with status 3 if anything would change
    #[arg(long, conflicts_with = "apply")]
    #[serde(default)]
    check: bool,
}

impl Operation for DeployShell {
    const TOOL: &'static str = "deploy_shell";
    const CLI: &'static [&'static str] = &["deploy"];
    const TITLE: &'static str = "Deploy";
    const ABOUT: &'static str =
        "Write prompts, skills and instructions where Codex, Claude Code, Cursor and VS Code read them";
    const HELP: &'static str = "Without --apply, mcpkg shows the plan and writes nothing. You can undo every deploy \
     with `mcpkg rollback`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg deploy",
        "mcpkg deploy --apply",
        "mcpkg deploy --apply --yes --target claude_code",
        "mcpkg deploy --repo ~/.agentpack/repo --apply --adopt",
        "mcpkg deploy --apply --only .claude/commands/review.md --adopt .claude/commands/review.md",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn command(&self) -> String {
        if self.apply && !self.dry_run { "deploy --apply" } else { "deploy" }.to_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let choice = self.only.of(&self.choice);
        if !self.apply {
            let mut reply = offer(context, &choice, &Page::default())?;
            let any = reply.data["changes"].as_array().is_some_and(|changes| !changes.is_empty());
            reply.differs = self.check && any;
            return Ok(reply);
        }
        // Before planning, check whether anybody can confirm, as `deploy_apply` does for agents.
        if context.confirmation == Confirmation::Nobody && !self.dry_run {
            return Err(unconfirmed("deploy --apply"));
        }
        let gate = self.confirm_token.map_or(Gate::Open, Gate::Token);
        Applying { choice: &choice, adopt: Adopt::of_shell(self.adopt), dry_run: self.dry_run, gate }.run(context)
    }
}
