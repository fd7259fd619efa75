//! `mcpkg mcp add`: adds an MCP server to the project.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::ServerArguments;
use super::data;
use crate::GROUP;
use mcpkg_base::error::Result;
use mcpkg_core::names;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::servers::{self, Origin};

/// Add an MCP server
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Server name (alphanumeric, hyphens, underscores, dots)
    name: String,
    #[command(flatten)]
    #[serde(flatten)]
    given: ServerArguments,
}

impl Operation for Add {
    const TOOL: &'static str = "add_mcp_server";
    const CLI: &'static [&'static str] = &["mcp", "add"];
    const TITLE: &'static str = "Add an MCP server";
    const ABOUT: &'static str = "Add an MCP server; agents get the server with the next deploy";
    const HELP: &'static str = "Adding a server does not start it. `mcpkg deploy` writes the server to each agent's \
        configuration file, after a person has consented.\n\
        mcpkg does not store secrets: --env and --header take the name of the variable that holds the secret. Anywhere \
        else, write ${NAME} instead of the secret.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg mcp add github -e GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github",
        "mcpkg mcp add docs --url https://docs.example/mcp -H 'Authorization=Bearer env:DOCS_TOKEN'",
    ];
    const EFFECT: Effect = Effect::Create;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("MCP server", &self.name)?;
        let definition = self.given.lay_over(&self.name, None)?;
        let (server, project) = context.write("mcp.add", &self.name, |db, project, author| {
            let (uuid, origin) = (context.clock.uuid(), Origin::default());
            let server = servers::insert(db, project, uuid, &self.name, definition, origin, true, author.now)?;
            Ok((server, project.name.clone()))
        })?;
        let sentence = format!("Added MCP server '{}' to project '{project}'", server.name);
        let reply = Reply::sentence(sentence, data(&project, &server));
        Ok(match super::variables(&server).as_slice() {
            [] => reply,
            names => reply.hint(format!("the server needs these variables when it starts: {}", names.join(", "))),
        })
    }
}
