//! `mcpkg explain`: shows which module, and which of its layers, causes each change or drift.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::answer::{self, PAGED, Page};
use crate::desired::Part;
use crate::module::Kind as ModuleKind;
use crate::operations::status;
use crate::operations::with_schema;
use crate::plan::prepare::Prepared;
use crate::plan::{self, Change};
use crate::source::Choice;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// What is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Changes in a plan
    Plan,
    /// Changes in a diff
    Diff,
    /// Files that have drifted
    Status,
}

/// Explain where changes come from
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Explain {
    /// Command whose output to explain
    #[arg(value_name = "WHAT", value_enum)]
    kind: What,
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    #[command(flatten)]
    #[serde(flatten)]
    page: Page,
}

impl Operation for Explain {
    const TOOL: &'static str = "explain";
    const CLI: &'static [&'static str] = &["explain"];
    const TITLE: &'static str = "Explain a plan or a status";
    const ABOUT: &'static str = "Explain which module and overlay each planned change or drifted file comes from";
    const EXAMPLES: &'static [&'static str] = &["mcpkg explain plan", "mcpkg explain status --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("explain");
    const ADDED: &'static str = PAGED;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn command(&self) -> String {
        let kind = match self.kind {
            What::Plan => "plan",
            What::Diff => "diff",
            What::Status => "status",
        };
        format!("explain {kind}")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let prepared = Prepared::new(context, &self.choice)?;
        let head = json!({ "profile": prepared.site.profile, "targets": plan::names(&prepared.site.selected) });
        let root = &prepared.site.place.root;
        let (key, list, rows, rest): (_, Vec<Value>, Vec<Vec<String>>, _) = if self.kind == What::Status {
            let all = status::drifted(&prepared)?;
            let (items, rest) = self.page.of(context, root, &all, |item| &item.path)?;
            let json = items.iter().map(|item| {
                let mut json = item.json();
                json["modules"] = json!(item.module_ids);
                json
            });
            let row = |item: &status::Item| {
                vec![item.state.word().to_owned(), item.path.display().to_string(), item.module_ids.join(", ")]
            };
            ("drift", json.collect(), items.iter().map(row).collect(), rest)
        } else {
            let all = &prepared.plan.changes;
            let (changes, rest) = self.page.of(context, root, all, |change| &change.path)?;
            let json = changes.iter().map(|change| explained(&prepared, change)).collect();
            let row = |change: &Change| {
                let from = parts(&prepared, change).iter().map(|part| format!("{} ({})", part.module_id, layer(part)));
                let from: Vec<String> = from.collect();
                let from = if from.is_empty() { change.module_ids.join(", ") } else { from.join(", ") };
                vec![change.op.word().to_owned(), change.path.display().to_string(), from]
            };
            ("changes", json, changes.iter().map(row).collect(), rest)
        };
        let mut data = head;
        data[key] = json!(list);
        let table = Table { columns: &["what", "path", "modules"], rows, empty: "Nothing to explain".to_owned() };
        let body = Body::Below(root.clone(), Box::new(Body::Table(table)));
        let mut reply = Reply::new(body, data).warn(prepared.warnings.iter().cloned());
        answer::add_rest(&mut reply, rest, Self::TOOL);
        Ok(answer::reply(context, &prepared.site, &self.page, reply))
    }
}

fn explained(prepared: &Prepared, change: &Change) -> Value {
    let parts = parts(prepared, change);
    let modules: Vec<Value> = if parts.is_empty() {
        // No module produces a file that will be deleted. Only the ids of its former modules are known.
        let gone = |id: &String| json!({ "module_id": id, "module_type": null, "layer": null, "module_path": null });
        change.module_ids.iter().map(gone).collect()
    } else {
        let known = |part: &Part| {
            json!({
                "module_id": part.module_id,
                "module_type": prepared.kinds.get(&part.module_id).copied().map(ModuleKind::word),
                "layer": part.layer,
                "module_path": part.file,
            })
        };
        parts.iter().map(known).collect()
    };
    json!({
        "op": change.op.word(),
        "target": change.targets.first(),
        "path": change.path.display().to_string(),
        "path_posix": disk::posix(&change.path),
        "modules": modules,
    })
}

fn parts<'m>(prepared: &'m Prepared, change: &Change) -> &'m [Part] {
    prepared.plan.desired.output(&change.path).map_or(&[], |output| &output.parts)
}

fn layer(part: &Part) -> &'static str {
    use crate::module::Layer;
    match part.layer {
        Layer::Upstream => "upstream",
        Layer::Global => "global",
        Layer::Machine => "machine",
        Layer::Project => "project",
    }
}
