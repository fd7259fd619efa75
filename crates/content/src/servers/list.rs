//! `mcpkg mcp list`: lists the project's MCP servers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{data, runs};
use crate::GROUP;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::servers;

/// List MCP servers
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_mcp_servers";
    const CLI: &'static [&'static str] = &["mcp", "list"];
    const TITLE: &'static str = "List MCP servers";
    const ABOUT: &'static str = "List the MCP servers of the project";
    const EXAMPLES: &'static [&'static str] = &["mcpkg mcp list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("servers");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (found, project) = context.read(|db, project| Ok((servers::all(db, project.id)?, project.name.clone())))?;
        let row = |server: &servers::Server| {
            vec![
                server.name.clone(),
                server.definition.transport.word().to_owned(),
                if server.enabled { "yes" } else { "no" }.to_owned(),
                server.origin.path.clone().unwrap_or_default(),
                runs(server),
            ]
        };
        let table = Table {
            columns: &["NAME", "TRANSPORT", "ENABLED", "FROM", "RUNS"],
            rows: found.iter().map(row).collect(),
            empty: format!("Project '{project}' has no MCP servers"),
        };
        let servers: Vec<_> = found.iter().map(|server| data(&project, server)).collect();
        Ok(Reply::new(Body::Table(table), json!({ "servers": servers })))
    }
}
