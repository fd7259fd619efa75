//! `mcpkg plugin add`: turns an MCP server into a plugin.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CHANGES, Tried, data, left_out, try_out};
use crate::plugin::model::Plugin;
use crate::{GROUP, groups};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_content::completions::MCP_SERVERS;
use mcpkg_content::servers::ServerArguments;
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_core::names;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::plugins;
use mcpkg_store::servers::{self, Origin, Server};

/// Run an MCP server as a source of commands
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Name of an existing or new MCP server; this is also the group of the server's commands
    #[arg(add = MCP_SERVERS)]
    name: String,
    #[command(flatten)]
    #[serde(flatten)]
    given: ServerArguments,
    /// Also allow addresses that are not public, such as addresses in your own network
    #[arg(long)]
    #[serde(default)]
    private: bool,
    /// Timeout in seconds, for the start and for each call [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    #[serde(default)]
    timeout: Option<u32>,
}

impl Operation for Add {
    const TOOL: &'static str = "add_plugin";
    const CLI: &'static [&'static str] = &["plugin", "add"];
    const TITLE: &'static str = "Add a plugin";
    const ABOUT: &'static str = "Let mcpkg run one of the project's MCP servers and use its tools as commands";
    const HELP: &'static str = "Shows what would run and asks you to confirm. You need a terminal to confirm; --yes \
        cannot skip the question. This way, a database that somebody else made cannot start a program by itself. After \
        you confirm, mcpkg starts the server once, to list its tools. A program runs without a sandbox, in your home \
        folder unless you give --cwd. The program gets the variables that you pass with --env, and a few other \
        environment variables. Each call of one of the server's tools needs consent, because mcpkg does not know what \
        the tool does. To change this, see `mcpkg plugin set --trust-annotations`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg plugin add memory -- npx -y @modelcontextprotocol/server-memory",
        "mcpkg plugin add docs --url https://docs.example/mcp -H 'Authorization=Bearer env:DOCS_TOKEN'",
        "mcpkg plugin add github",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (is_new, mut plugin) = self.plugin(context)?;
        plugin.ask(context)?;
        let Tried { listing, era } = try_out(context, &plugin)?;
        plugin.approve(context)?;
        let facts = plugin.facts()?;
        let stored = context.write("plugin.add", &self.name, |db, project, author| {
            let Server { uuid, name, definition, origin, .. } = &plugin.server;
            let server = match is_new {
                true => {
                    servers::insert(db, project, *uuid, name, definition.clone(), origin.clone(), true, author.now)?
                }
                false => servers::get(db, project, name)?,
            };
            if server.definition != plugin.server.definition {
                return Err(Error::new(
                    Code::PlanChanged,
                    format!("Somebody else changed MCP server '{name}' in the meantime; nothing was written"),
                )
                .hint("try again"));
            }
            plugins::insert(db, &server, &facts, author.now)?;
            plugins::set_era(db, server.id, era.word())?;
            plugins::set_listed(db, server.id, &listing.tools, author.now)?;
            plugins::accept(db, server.id)?;
            Ok((server.clone(), plugins::tools(db, server.id)?))
        });
        let (server, tools) = match stored {
            Ok(stored) => stored,
            Err(error) => {
                plugin.withdraw(context)?;
                return Err(error);
            }
        };
        plugin.server = server;
        plugin.era = Some(era);
        let sentence = format!("Added the plugin '{}' with {}", self.name, plural::count(tools.len(), "command"));
        Ok(Reply::sentence(sentence, data(context, &plugin, &tools)?)
            .warn(left_out(&listing))
            .hint(format!("`mcpkg command search --group {}` lists its commands", self.name)))
    }
}

impl Add {
    /// Returns the new plugin, and whether its server is new too.
    fn plugin(&self, context: &Context) -> Result<(bool, Plugin)> {
        names::check("MCP server", &self.name)?;
        groups::check(&self.name, "name of a plugin")
            .map_err(|error| error.hint("rename an MCP server with `mcpkg mcp set NAME --rename OTHER`"))?;
        let (project, known) = context.read(|db, project| {
            if groups::is_taken(db, &self.name)? {
                return Err(Error::new(
                    Code::AlreadyExists,
                    format!("A catalog already has commands in the group '{}'", self.name),
                )
                .hint("choose another name for the plugin"));
            }
            let known = servers::find(db, project.id, &self.name)?;
            if let Some(server) = known.as_ref()
                && plugins::is_plugin(db, server.id)?
            {
                return Err(plugins::already(&self.name));
            }
            Ok((project.name.clone(), known))
        })?;
        let (is_new, server) = match known {
            Some(_) if !self.given.is_empty() => {
                let why = format!("MCP server '{}' already exists in project '{project}'", self.name);
                return Err(Error::new(Code::AlreadyExists, why).hint(format!(
                    "run the server unchanged with `mcpkg plugin add {}`, or change the server with `mcpkg mcp set {}`",
                    self.name, self.name
                )));
            }
            Some(server) => (false, server),
            None if self.given.is_empty() => {
                let (name, why) = (&self.name, format!("Project '{project}' has no MCP server '{}'", self.name));
                return Err(Error::new(Code::InvalidArgument, why).hint(format!(
                    "add one with `mcpkg plugin add {name} -- PROGRAM ARGUMENTS` or `mcpkg plugin add {name} --url URL`"
                )));
            }
            None => (true, self.server(context)?),
        };
        let mut plugin = Plugin::new(server, &project);
        plugin.private = self.private;
        if let Some(seconds) = self.timeout {
            plugin.timeout = std::time::Duration::from_secs(seconds.into());
        }
        Ok((is_new, plugin))
    }

    /// Returns a new server that is not stored yet.
    fn server(&self, context: &Context) -> Result<Server> {
        let now = context.clock.now();
        Ok(Server {
            id: 0,
            uuid: context.clock.uuid(),
            name: self.name.clone(),
            definition: self.given.lay_over(&self.name, None)?,
            origin: Origin::default(),
            enabled: true,
            revision: 1,
            created_at: now,
            updated_at: now,
        })
    }
}
