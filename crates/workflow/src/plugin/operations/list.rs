//! `mcpkg plugin list`: lists the plugins of a project.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::data;
use crate::GROUP;
use crate::plugin::plugins::all;
use mcpkg_base::error::Result;
use mcpkg_content::servers::runs;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use mcpkg_store::plugins;

/// List plugins
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_plugins";
    const CLI: &'static [&'static str] = &["plugin", "list"];
    const TITLE: &'static str = "List plugins";
    const ABOUT: &'static str = "List the MCP servers that mcpkg runs, with their state";
    const HELP: &'static str = "A plugin is in one of these states: well, changed (its tools differ from the tools that a person \
        approved), backing_off or failed (it failed recently), unapproved (nobody has approved it on this machine), or disabled. \
        Listing the plugins does not start them.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg plugin list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("plugins");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (mut list, mut rows): (Vec<Value>, Vec<Vec<String>>) = Default::default();
        for plugin in all(context)? {
            let tools = context.store.read(|db| plugins::tools(db, plugin.server.id))?;
            let data = data(context, &plugin, &tools)?;
            let state = data["state"].as_str().unwrap_or_default();
            let cells = [plugin.name(), state, &data["tools"].to_string(), &runs(&plugin.server)];
            rows.push(cells.map(|text| cell(text).into_owned()).to_vec());
            list.push(data);
        }
        let empty = "No plugins yet. Add one with `mcpkg plugin add NAME -- PROGRAM`".to_owned();
        let table = Table { columns: &["NAME", "STATE", "TOOLS", "RUNS"], rows, empty };
        Ok(Reply::new(Body::Table(table), json!({ "plugins": list })))
    }
}
