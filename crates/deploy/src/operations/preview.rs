//! `mcpkg preview`: shows the plan and, with `--diff`, the diff of each file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::diff::{add, rest_after};
use super::plan::Show;
use super::with_schema;
use crate::GROUP;
use crate::answer::{PAGED, add_rest, below, is_brief};
use crate::plan::show::{diffs, listed, relative, unified_within};
use crate::plan::{Change, Op, names};
use crate::plan::{changes_json, summary};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Show the plan and, with --diff, the differences
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Preview {
    #[command(flatten)]
    #[serde(flatten)]
    show: Show,
    /// Also show the diff of each file
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
    const ADDED: &'static str = PAGED;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = self.show.prepared(context)?;
        let (root, all) = (&prepared.site.place.root, &prepared.plan.changes);
        let (mut items, mut rest) = self.show.listed(context, &prepared)?;
        let mut texts = Vec::new();
        let mut said = Vec::new();
        if self.diff {
            let is_brief = is_brief(context);
            texts = unified_within(context, items, |change| match is_brief {
                true => below(root, &change.path),
                false => relative(change),
            });
            rest = rest_after(&texts, items, all.len(), root).or(rest);
            items = if is_brief { &items[..texts.len()] } else { items };
        }
        let mut changes = changes_json(items);
        let mut body = vec![listed(&prepared, items)];
        let mut diff = None;
        if self.diff && is_brief(context) {
            changes.iter_mut().zip(&texts).for_each(|(change, text)| add(change, text));
        } else if self.diff {
            let texts = texts.iter().map(Some).chain(std::iter::repeat(None));
            let files: Vec<Value> =
                items.iter().zip(texts).map(|(change, text)| file_json(change, text, &mut said)).collect();
            diff = Some(json!({ "changes": changes, "summary": summary(all), "files": files }));
            body.push(diffs(items, &prepared.site));
        }
        let mut data = json!({
            "profile": prepared.site.profile,
            "targets": names(&prepared.site.selected),
            "plan": { "changes": changes, "summary": summary(all) },
        });
        if let Some(diff) = diff {
            data["diff"] = diff;
        }
        let mut reply = Reply::new(Body::Several(body), data);
        add_rest(&mut reply, rest, Self::TOOL);
        Ok(self.show.shown(context, &prepared, reply, said))
    }
}

/// Returns the JSON of a file for `preview --diff`. A deleted file has no diff.
fn file_json(change: &Change, text: Option<&Result<String, String>>, said: &mut Vec<String>) -> Value {
    let prefixed = |sha256: Option<&sha256::Sha>| sha256.map(|sha256| format!("sha256:{}", hex::encode(sha256)));
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
    match text {
        Some(Ok(text)) if change.op != Op::Delete => file["unified"] = json!(text),
        Some(Err(why)) if change.op != Op::Delete => said.push(format!("no diff: {why}")),
        _ => {}
    }
    file
}
