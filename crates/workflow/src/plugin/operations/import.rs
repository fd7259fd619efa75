//! `mcpkg plugin import`: turns the MCP servers in another program's file into plugins.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::CHANGES;
use crate::plugin::connection;
use crate::plugin::mend::{Mended, mended};
use crate::plugin::model::Plugin;
use crate::{GROUP, groups};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::plugins;
use mcpkg_store::projects::Project;
use mcpkg_store::servers::{self, Origin, Server};

/// Import plugins of other programs
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// JSON file with an `mcpServers` object, such as oatty's mcp.json
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Variable or header to import with its value; the value must not be a secret
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    keep_env: Vec<String>,
}

impl Operation for Import {
    const TOOL: &'static str = "import_plugins";
    const CLI: &'static [&'static str] = &["plugin", "import"];
    const TITLE: &'static str = "Import plugins";
    const ABOUT: &'static str = "Import MCP servers from another program's file, as plugins";
    const HELP: &'static str = "Importing a plugin does not start it. To approve a plugin, run `mcpkg plugin check NAME` at a \
        terminal. mcpkg reports what it fixed or skipped. mcpkg never imports the value of a secret, only the name of a variable that \
        holds the secret.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg plugin import ~/.config/oatty/mcp.json", "mcpkg plugin import mcp.json --keep-env LOG_LEVEL"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let from = self.file.display();
        let text = file::read_text(&self.file, file::TEXT)
            .map_err(|error| Error::new(Code::FileFailed, format!("Cannot read `{from}`: {error}")))?;
        let mended = mended(&text, &self.keep_env)
            .map_err(|why| Error::new(Code::InvalidArgument, format!("`{from}` contains no MCP servers: {why}")))?;
        let Mended { servers, mut notes } = mended;
        let subject = self.subject();
        let taken = context.write("plugin.import", &subject, |db, project, author| {
            let mut taken = Vec::new();
            for (name, definition, enabled) in &servers {
                if let Some(why) = kept_out(db, project, name, definition)? {
                    notes.push(format!("skipped '{name}': {why}"));
                    continue;
                }
                let (uuid, origin) = (context.clock.uuid(), Origin::default());
                let server =
                    servers::insert(db, project, uuid, name, definition.clone(), origin, *enabled, author.now)?;
                add(db, &server, &project.name, &context.clock)?;
                taken.push(name.clone());
            }
            Ok(taken)
        })?;
        let count = plural::count(taken.len(), "plugin");
        let reply =
            Reply::sentence(format!("Imported {count} from `{from}`"), json!({ "taken": taken, "notes": notes }));
        let reply = reply.warn(notes);
        Ok(match taken.is_empty() {
            true => reply,
            false => reply.hint("nothing was started; approve the plugins with `mcpkg plugin check` at a terminal"),
        })
    }
}

/// Returns why a server cannot become a plugin of the project, or `None` if it can.
fn kept_out(db: &Db<'_>, project: &Project, name: &str, definition: &servers::Definition) -> Result<Option<String>> {
    let checked = groups::check(name, "name of a plugin").and_then(|()| connection::check(name, definition));
    if let Err(error) = checked {
        return Ok(Some(error.message().to_owned()));
    }
    if groups::is_taken(db, name)? {
        return Ok(Some("a catalog already uses this group name".to_owned()));
    }
    Ok(servers::find(db, project.id, name)?.map(|_| {
        format!("the project already has an MCP server of this name; run that server with `mcpkg plugin add {name}`")
    }))
}

fn add(db: &Db<'_>, server: &Server, project: &str, clock: &Clock) -> Result<()> {
    let facts = Plugin::new(server.clone(), project).facts()?;
    plugins::insert(db, server, &facts, clock.now())
}
