//! `mcpkg diff`: shows line by line what a deploy would change.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::plan::Show;
use super::with_schema;
use crate::GROUP;
use crate::answer::{Rest, add_rest, below, is_brief};
use crate::plan::Change;
use crate::plan::show::{diffs, unified_within};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

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
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg diff", "mcpkg diff --target cursor --check", "mcpkg diff --limit 20 --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const ADDED: &'static str = r#"{ "cursor": { "type": "string" }, "limit": { "type": "integer" } }"#;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = self.show.prepared(context)?;
        let (root, all) = (&prepared.site.place.root, &prepared.plan.changes);
        let (listed, rest) = self.show.listed(context, &prepared)?;
        let texts = unified_within(context, listed, |change| below(root, &change.path));
        let rest = rest_after(&texts, listed, all.len(), root).or(rest);
        // The shell and a server that runs as `agentpack` list all changes, even those without a diff.
        let items = if is_brief(context) { &listed[..texts.len()] } else { listed };
        let mut reply = Reply::new(diffs(listed, &prepared.site), prepared.data(items));
        for (change, text) in reply.data["changes"].as_array_mut().into_iter().flatten().zip(&texts) {
            add(change, text);
        }
        add_rest(&mut reply, rest, Self::TOOL);
        Ok(self.show.shown(context, &prepared, reply, Vec::new()))
    }
}

/// Returns the rest of the list, starting after the last change with a diff. Returns `None` if every listed change has
/// one.
pub(super) fn rest_after<T>(texts: &[T], listed: &[Change], total: usize, root: &str) -> Option<Rest> {
    let last = listed.get(texts.len().checked_sub(1)?).filter(|_| texts.len() < listed.len())?;
    Some(Rest { listed: texts.len(), total, cursor: below(root, &last.path) })
}

/// Adds the diff of a change, or the reason why there is no diff, to the change's JSON.
pub(super) fn add(change: &mut Value, text: &Result<String, String>) {
    match text {
        // The text is empty if only the mode differs, or if it is a link.
        Ok(text) if text.is_empty() => {}
        Ok(text) => change["unified"] = json!(text),
        Err(why) => change["no_diff"] = json!(why),
    }
}
