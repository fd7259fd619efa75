//! `mcpkg mcp set`: changes an MCP server.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::ServerArguments;
use super::data;
use crate::GROUP;
use crate::completions::MCP_SERVERS;
use mcpkg_base::error::Result;
use mcpkg_core::names;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::servers::{self, Server};

/// Change an MCP server
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Server name
    #[arg(add = MCP_SERVERS)]
    name: String,
    #[command(flatten)]
    #[serde(flatten)]
    given: ServerArguments,
    /// Whether the server is enabled; mcpkg neither deploys nor runs a disabled server
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// New name for the server
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
}

impl Operation for Set {
    const TOOL: &'static str = "set_mcp_server";
    const CLI: &'static [&'static str] = &["mcp", "set"];
    const TITLE: &'static str = "Change an MCP server";
    const ABOUT: &'static str = "Change an MCP server of the project; options that you leave out stay unchanged";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg mcp set github --enabled false",
        "mcpkg mcp set docs -H 'Authorization=Bearer env:OTHER_TOKEN'",
        "mcpkg mcp set github -- npx -y @scope/other",
    ];
    const ALIASES: &'static [&'static str] = &["update"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(name) = &self.rename {
            names::check("MCP server", name)?;
        }
        let (before, server, project) = context.write("mcp.set", &self.name, |db, project, author| {
            let before = servers::get(db, project, &self.name)?;
            let definition = self.given.lay_over(&self.name, Some(before.definition.clone()))?;
            let mut origin = before.origin.clone();
            let name = self.rename.clone().unwrap_or_else(|| before.name.clone());
            if name != before.name && origin.path.is_some() && origin.entry.is_none() {
                origin.entry = Some(before.name.clone());
            }
            let enabled = self.enabled.unwrap_or(before.enabled);
            let after = Server { name, definition, origin, enabled, ..before.clone() };
            let server = servers::update(db, project, &before, after, author.now)?;
            Ok((before, server, project.name.clone()))
        })?;
        let sentence = if before == server {
            format!("MCP server '{}' of project '{project}' already has these settings", server.name)
        } else {
            format!("Changed MCP server '{}' of project '{project}' (revision {})", server.name, server.revision)
        };
        Ok(Reply::sentence(sentence, data(&project, &server)))
    }
}
