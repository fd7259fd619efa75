//! `mcpkg mcp show`: shows a server as it would appear in one agent's configuration file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{FORM, data, runs};
use crate::GROUP;
use crate::completions::MCP_SERVERS;
use mcpkg_agents::agents;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::servers;

/// Show an MCP server
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Server name
    #[arg(add = MCP_SERVERS)]
    name: String,
    /// Agent whose configuration format to use
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "show_mcp_server";
    const CLI: &'static [&'static str] = &["mcp", "show"];
    const TITLE: &'static str = "Show an MCP server";
    const ABOUT: &'static str = "Show an MCP server as an entry in an agent's configuration file";
    const EXAMPLES: &'static [&'static str] = &["mcpkg mcp show github", "mcpkg mcp show github --agent codex"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (server, project) =
            context.read(|db, project| Ok((servers::get(db, project, &self.name)?, project.name.clone())))?;
        let named = self.agent.as_deref().map(|agent| agent.replace('-', "_"));
        let id = named.as_deref().unwrap_or(FORM);
        let agent = agents::with_id(id).ok_or_else(|| unknown(id))?;
        let dialect = &agent.servers;
        let own = server.origin.agent.as_deref() == Some(agent.id);
        let text = match dialect.write(&server.definition, own) {
            Ok(written) => dialect.document.snippet(&server.name, written.fields),
            // The default is Claude Code's format, which can express most servers. For other servers, show the command
            // line or URL.
            Err(_) if named.is_none() => format!("{}\n", runs(&server)),
            Err(why) => {
                let message = format!("{} cannot use MCP server '{}': {}", agent.id, server.name, why.text());
                return Err(Error::new(Code::InvalidArgument, message));
            }
        };
        Ok(Reply::new(Body::Text(text), data(&project, &server)))
    }
}

fn unknown(agent: &str) -> Error {
    let names: Vec<&str> = agents::by_id().iter().map(|agent| agent.id).collect();
    let error = Error::new(Code::TargetUnsupported, format!("Unknown agent '{}'", agent.escape_debug()));
    error.suggest(agent, names.iter().copied(), format!("the agents are {}", names.join(", ")))
}
