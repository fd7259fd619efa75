//! `mcpkg mcp remove`: removes an MCP server from the project.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::GROUP;
use crate::completions::MCP_SERVERS;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::servers;

/// Remove an MCP server
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Server name
    #[arg(add = MCP_SERVERS)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_mcp_server";
    const CLI: &'static [&'static str] = &["mcp", "remove"];
    const TITLE: &'static str = "Remove an MCP server";
    const ABOUT: &'static str = "Remove an MCP server from the project";
    const HELP: &'static str = "MCP servers have no history. The next deploy removes the server's entry from the \
        agents' files. To keep the server but disable it, use `mcpkg mcp set NAME --enabled false`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg mcp remove github"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (server, project) = context.write("mcp.remove", &self.name, |db, project, _| {
            Ok((servers::delete(db, project, &self.name)?, project.name.clone()))
        })?;
        let sentence = format!("Removed MCP server '{}' from project '{project}'", server.name);
        Ok(Reply::sentence(sentence, data(&project, &server)))
    }
}
