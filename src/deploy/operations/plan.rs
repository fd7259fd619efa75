//! `plan`, `diff`, `preview`: what a deploy would do.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::with_schema;
use crate::deploy::GROUP;
use crate::deploy::plan::prepare::Made;
use crate::deploy::plan::show::{changes_json, diffs, listed, relative, summary, unified};
use crate::deploy::plan::{Change, Op, names};
use crate::deploy::source::Choice;
use crate::disk;
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// The arguments that plan, diff and deploy take.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// It reads only, with it or without
    #[arg(long, hide = true)]
    #[serde(default)]
    dry_run: bool,
    /// Exit with status 3 where anything would change
    #[arg(long)]
    #[serde(skip)]
    check: bool,
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
    const HELP: &'static str = "Nothing is written. A file that mcpkg did not write, or that was changed since, needs --adopt.\n\n\
        Examples:\n  mcpkg plan\n  mcpkg plan --target claude_code --check\n  mcpkg plan --repo ~/.agentpack/repo --json";
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let made = Made::new(context, &self.show.choice)?;
        let body = listed(&made);
        Ok(shown(made, body, self.show.check))
    }
}

/// Show the differences a deploy would make
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ShowDiff {
    #[command(flatten)]
    show: Show,
}

impl Operation for ShowDiff {
    const TOOL: &'static str = "diff";
    const CLI: &'static [&'static str] = &["diff"];
    const TITLE: &'static str = "Diff a deploy";
    const ABOUT: &'static str = "Show what a deploy would change in the agents' files, line by line";
    const HELP: &'static str = "Examples:\n  mcpkg diff\n  mcpkg diff --target cursor --check";
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let made = Made::new(context, &self.show.choice)?;
        let body = diffs(&made.plan.changes);
        Ok(shown(made, body, self.show.check))
    }
}

fn shown(made: Made, body: Body, check: bool) -> Reply {
    let mut reply = Reply::new(body, made.data());
    reply.differs = check && !made.plan.changes.is_empty();
    if !made.plan.changes.is_empty() {
        reply = reply.hint(format!("`mcpkg deploy --apply{}` does it", made.site.arguments()));
    }
    reply.warn(made.warnings)
}

/// Show the plan and, with --diff, the differences
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Preview {
    #[command(flatten)]
    #[serde(flatten)]
    show: Show,
    /// Show the differences too
    #[arg(long)]
    #[serde(default)]
    diff: bool,
}

impl Operation for Preview {
    const TOOL: &'static str = "preview";
    const CLI: &'static [&'static str] = &["preview"];
    const TITLE: &'static str = "Preview a deploy";
    const ABOUT: &'static str = "Show the plan of a deploy and, with diff, the unified diff of each file";
    const HELP: &'static str = "Examples:\n  mcpkg preview --diff\n  mcpkg preview --diff --json";
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("preview");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let mut made = Made::new(context, &self.show.choice)?;
        let changes = &made.plan.changes;
        let plan = json!({ "changes": changes_json(changes), "summary": summary(changes) });
        let mut data = json!({
            "profile": made.site.profile,
            "targets": names(&made.site.selected),
            "plan": plan,
        });
        let mut body = vec![listed(&made)];
        if self.diff {
            let mut files = Vec::new();
            for change in changes {
                files.push(file_json(change, &mut made.warnings));
            }
            data["diff"] =
                json!({ "changes": data["plan"]["changes"], "summary": data["plan"]["summary"], "files": files });
            body.push(diffs(changes));
        }
        let mut reply = shown(made, Body::Several(body), self.show.check);
        reply.data = data;
        Ok(reply)
    }
}

/// A file of `preview --diff`; the diff of one that is deleted is its absence.
fn file_json(change: &Change, warnings: &mut Vec<String>) -> Value {
    let prefixed = |sha256: Option<&disk::Sha>| sha256.map(|sha256| format!("sha256:{}", disk::hex(sha256)));
    let relative = relative(change);
    let mut file = json!({
        "target": change.targets.first(),
        "root": change.root.display().to_string(),
        "root_posix": disk::posix(&change.root),
        "path": relative,
        "path_posix": relative,
        "op": change.op.word(),
        "before_hash": prefixed(change.before.sha256()),
        "after_hash": prefixed(change.after.sha256()),
    });
    if change.op != Op::Delete {
        match unified(change) {
            Ok(text) => file["unified"] = json!(text),
            Err(why) => warnings.push(format!("no diff: {why}")),
        }
    }
    file
}
