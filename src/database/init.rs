//! `mcpkg init`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::TOOLSET;
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};

/// Create the database
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Init {}

impl Operation for Init {
    const TOOL: &'static str = "init_database";
    const CLI: &'static [&'static str] = &["init"];
    const TITLE: &'static str = "Create the database";
    const ABOUT: &'static str = "Create the database, say where it is and how to connect a client";
    const HELP: &'static str = "Every other command creates the database too; this one shows what to do next.";
    const EFFECT: Effect = Effect::Create;
    const TOOLSET: &'static str = TOOLSET;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let database = context.store.path().display().to_string();
        let binary = std::env::current_exe().map_or_else(|_| "mcpkg".to_owned(), |path| path.display().to_string());
        // A database in the default place needs no flag; any other has to be named to the client.
        let default = crate::database::default_path().is_some_and(|path| path == context.store.path());
        let mut arguments = vec![];
        if !default {
            arguments.extend(["--db".to_owned(), database.clone()]);
        }
        arguments.push("serve".to_owned());
        let command: Vec<String> = std::iter::once(&binary).chain(&arguments).map(|word| quoted(word)).collect();
        let command = command.join(" ");
        let servers = json!({ "mcpServers": { "mcpkg": { "command": binary, "args": arguments } } });
        let text = format!(
            "The database is {database}\n\n\
             Next:\n  mcpkg project create NAME\n  mcpkg import PATH...\n  mcpkg serve\n\n\
             Connect Claude Code:\n  claude mcp add mcpkg -- {command}\n\
             Connect Codex:\n  codex mcp add mcpkg -- {command}\n\
             Connect Cursor, Claude Desktop, Windsurf and others (VS Code calls the key `servers`):\n{servers:#}\n"
        );
        let data = json!({ "database": database, "command": binary, "args": arguments, "client": servers });
        Ok(Reply::new(Body::Text(text), data))
    }
}

fn quoted(word: &str) -> String {
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-\\:".contains(c)) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
