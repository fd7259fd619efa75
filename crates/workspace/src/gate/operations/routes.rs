//! `mcpkg gate routes list`: lists the routes of the gate.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::route_table;
use crate::gate::open;
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// List the routes of the gate
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    url: Option<String>,
}

impl Operation for List {
    const TOOL: &'static str = "list_gate_routes";
    const CLI: &'static [&'static str] = &["gate", "routes", "list"];
    const TITLE: &'static str = "List routes";
    const ABOUT: &'static str = "List the routes of the gate: each endpoint and its model";
    const HELP: &'static str = "The embedded gate does not count requests, so its routes have no request counts.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg gate routes list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("routes");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let routes = open(context, &workspace, self.url.as_deref())?.routes()?;
        Ok(Reply::new(Body::Table(route_table(&routes)), json!({ "routes": routes })))
    }
}
