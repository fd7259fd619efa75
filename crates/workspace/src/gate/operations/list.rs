//! `mcpkg gate models list` (tool `smctl_gate_models_list`): lists the models of the gate.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::table;
use crate::gate::open;
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// List the models of the gate
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    url: Option<String>,
}

impl Operation for List {
    const TOOL: &'static str = "smctl_gate_models_list";
    const CLI: &'static [&'static str] = &["gate", "models", "list"];
    const TITLE: &'static str = "List models";
    const ABOUT: &'static str = "List registered ONNX models";
    const HELP: &'static str = "For the embedded gate, the list also shows the inputs and outputs that each \
        model's file declares.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg gate models list", "mcpkg gate models list --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(r#"{"type":"object","properties":{}}"#);
    const LISTS: Option<&'static str> = Some("models");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let models = open(context, &workspace, self.url.as_deref())?.models()?;
        Ok(Reply::new(Body::Table(table(&models)), json!({ "models": models })))
    }
}
