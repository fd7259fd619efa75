//! `mcpkg preview`: the plan and, with `--diff`, the differences.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::plan::{Show, shown};
use super::with_schema;
use crate::deploy::GROUP;
use crate::deploy::plan::json::{changes_json, summary};
use crate::deploy::plan::prepare::Prepared;
use crate::deploy::plan::show::{diffs, listed, relative, unified};
use crate::deploy::plan::{Change, Op, names};
use crate::disk;
use crate::error::Result;
use crate::hex;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

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
    const EXAMPLES: &'static [&'static str] = &["mcpkg preview --diff", "mcpkg preview --diff --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("preview");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let mut prepared = Prepared::new(context, &self.show.choice)?;
        let changes = &prepared.plan.changes;
        let plan = json!({ "changes": changes_json(changes), "summary": summary(changes) });
        let mut data = json!({
            "profile": prepared.site.profile,
            "targets": names(&prepared.site.selected),
            "plan": plan,
        });
        let mut body = vec![listed(&prepared)];
        if self.diff {
            let mut files = Vec::new();
            for change in changes {
                files.push(file_json(change, &mut prepared.warnings));
            }
            data["diff"] =
                json!({ "changes": data["plan"]["changes"], "summary": data["plan"]["summary"], "files": files });
            body.push(diffs(changes, &prepared.site));
        }
        let mut reply = shown(prepared, Body::Several(body), self.show.check);
        reply.data = data;
        Ok(reply)
    }
}

/// A file of `preview --diff`; the diff of one that is deleted is its absence.
fn file_json(change: &Change, warnings: &mut Vec<String>) -> Value {
    let prefixed = |sha256: Option<&disk::Sha>| sha256.map(|sha256| format!("sha256:{}", hex::encode(sha256)));
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
