//! `mcpkg diff`: shows line by line what a deploy would change.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::plan::Show;
use super::with_schema;
use crate::GROUP;
use crate::answer::{Rest, add_rest, below, is_brief};
use crate::plan::Change;
use crate::plan::prepare::Prepared;
use crate::plan::show::{diffs, unified_within};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::blobs;
use mcpkg_store::deploys::{self, Image};

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
        let mut deployed = deployed_texts(context, &prepared)?;
        for (at, (change, text)) in reply.data["changes"].as_array_mut().into_iter().flatten().zip(&texts).enumerate() {
            add(change, text);
            let known = listed.get(at).and_then(|listed| three_texts(listed, &mut deployed));
            if let Some(three) = known {
                change["three_texts"] = three;
            }
        }
        add_rest(&mut reply, rest, Self::TOOL);
        Ok(self.show.shown(context, &prepared, reply, Vec::new()))
    }
}

/// Returns the rest of the list, starting after the last change with a diff. Returns `None` if all of the listed
/// changes have a diff, or none has.
pub(super) fn rest_after<T>(texts: &[T], listed: &[Change], total: usize, root: &str) -> Option<Rest> {
    let last = listed.get(texts.len().checked_sub(1)?).filter(|_| texts.len() < listed.len())?;
    Some(Rest { listed: texts.len(), total, cursor: below(root, &last.path) })
}

/// Returns, by path, the text that the last deploy wrote to each file that was changed since. Empty for an agent.
fn deployed_texts(context: &Context, prepared: &Prepared) -> Result<HashMap<String, String>> {
    let drifted =
        |path: &str| prepared.plan.changes.iter().any(|change| change.drifted && change.path.to_string_lossy() == path);
    if !context.is_shell() || !prepared.plan.changes.iter().any(|change| change.drifted) {
        return Ok(HashMap::new());
    }
    context.store.read(|db| {
        let Some(place) = deploys::place(db, &prepared.site.place)? else { return Ok(HashMap::new()) };
        let mut texts = HashMap::new();
        for row in deploys::of_place(db, place)?.into_iter().filter(|row| drifted(&row.path)) {
            if let Image::File { blob, .. } = row.applied
                && let Ok(text) = String::from_utf8(blobs::get(db, blob)?)
            {
                texts.insert(row.path, text);
            }
        }
        Ok(texts)
    })
}

/// Returns the three texts of a file that was changed both on disk and in the project since it was deployed: the
/// deployed text, the text on disk, and the project's text. `None` for any other change.
fn three_texts(change: &Change, deployed: &mut HashMap<String, String>) -> Option<Value> {
    let base = deployed.remove(change.path.to_string_lossy().as_ref())?;
    let text = |bytes: Option<&[u8]>| std::str::from_utf8(bytes?).ok().map(str::to_owned);
    let (disk, project) = (text(change.before.bytes())?, text(change.after.bytes())?);
    (base != disk && base != project).then(|| json!({ "deployed": base, "on_disk": disk, "project": project }))
}

/// Adds the diff of a change, or the reason why there is no diff, to the change's JSON.
pub(super) fn add(change: &mut Value, text: &Result<String, String>) {
    match text {
        // The text is empty if only the file's mode differs, or if the file is a link.
        Ok(text) if text.is_empty() => {}
        Ok(text) => change["unified"] = json!(text),
        Err(why) => change["no_diff"] = json!(why),
    }
}
