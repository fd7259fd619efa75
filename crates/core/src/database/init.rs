//! `mcpkg init`: creates the database.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{GROUP, health};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_base::error::Result;
use mcpkg_base::shell;
use mcpkg_store::projects;

/// Create the database
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Init {}

impl Operation for Init {
    const TOOL: &'static str = "init_database";
    const CLI: &'static [&'static str] = &["init"];
    const TITLE: &'static str = "Create the database";
    const ABOUT: &'static str = "Create the database, and show where it is and how to connect a client";
    const HELP: &'static str = "Servers, and commands that write, also create the database if it is missing. Unless \
        you give --quiet, `mcpkg init` also prints the next steps.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg init", "mcpkg init --db team.db"];
    const EFFECT: Effect = Effect::Create;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let database = context.store.location().to_string();
        let binary = std::env::current_exe().map_or_else(|_| "mcpkg".to_owned(), |path| path.display().to_string());
        // `mcpkg serve` finds the default database by itself. Any other database has to be named.
        let default =
            crate::database::default_path().is_some_and(|path| Some(&*path) == context.store.location().file());
        let mut arguments = vec![];
        if !default {
            arguments.extend(["--db".to_owned(), database.clone()]);
        }
        arguments.push("serve".to_owned());
        let servers = json!({ "mcpServers": { "mcpkg": { "command": binary, "args": arguments } } });
        let data = json!({ "database": database, "command": binary, "args": arguments, "client": servers });
        let flag = if default { String::new() } else { format!(" --db {}", shell::quote(&database)) };
        let mut reply = Reply::sentence(format!("The database is {database}"), data);
        let selected = context.store.read(|db| projects::resolve(db, &context.selection));
        if !matches!(selected, Ok(Some(_))) {
            reply = reply.hint(format!(
                "`mcpkg{flag} project create NAME` creates a project; the first project is selected automatically"
            ));
        }
        let file = context.store.location().file().map(Path::to_owned);
        Ok(reply
            .warn(file.and_then(|file| health::on_network(&file)))
            .hint(format!("`mcpkg{flag} import PATH...` imports existing files, such as .claude/commands"))
            .hint(format!(
                "`mcpkg{flag} client add claude-code` connects Claude Code; `mcpkg client list` lists all clients"
            ))
            .hint(format!("`mcpkg{flag} client show cursor` prints the settings to add by hand")))
    }
}
