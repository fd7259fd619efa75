//! `mcpkg agent-file ...`: the files that a project keeps for one agent only, such as `.claude/settings.json`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use crate::completions::AGENT_FILES;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Entry, Faces, Media, NoOutput, Operation, Reply, Table};
use mcpkg_store::agent_files::{self, AgentFile};
use mcpkg_store::blobs;

pub const OPS: &[Entry] = &[Entry::of::<List>(), Entry::of::<Show>(), Entry::of::<Remove>()];

fn data(project: &str, file: &AgentFile) -> Value {
    json!({
        "project": project,
        "path": file.path,
        "kind": file.kind.word(),
        "agent": file.agent,
        "bytes": file.size,
        "executable": file.executable,
        "revision": file.revision,
        "created_at": rfc3339(file.created_at),
        "updated_at": rfc3339(file.updated_at),
    })
}

/// List files that are kept for one agent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_agent_files";
    const CLI: &'static [&'static str] = &["agent-file", "list"];
    const TITLE: &'static str = "List agents' files";
    const ABOUT: &'static str = "List the project's agent-specific files: hooks, permissions, ignore files";
    const HELP: &'static str = "`mcpkg import` stores agent-specific files. A deploy writes each of these files \
        only for the agent that the file was imported from.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg agent-file list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("files");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (files, project) =
            context.read(|db, project| Ok((agent_files::all(db, project.id)?, project.name.clone())))?;
        let row = |file: &AgentFile| {
            vec![file.path.clone(), file.kind.word().to_owned(), file.agent.clone(), file.size.to_string()]
        };
        let table = Table {
            columns: &["PATH", "KIND", "AGENT", "BYTES"],
            rows: files.iter().map(row).collect(),
            empty: format!("Project '{project}' has no agent-specific files"),
        };
        let files: Vec<_> = files.iter().map(|file| data(&project, file)).collect();
        Ok(Reply::new(Body::Table(table), json!({ "files": files })))
    }
}

/// Show an agent-specific file
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Path that the file was imported from, such as .claude/settings.json
    #[arg(add = AGENT_FILES)]
    path: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_agent_file";
    const CLI: &'static [&'static str] = &["agent-file", "show"];
    const TITLE: &'static str = "Show an agent's file";
    const ABOUT: &'static str = "Show one of the project's agent-specific files";
    const EXAMPLES: &'static [&'static str] = &["mcpkg agent-file show .claude/settings.json"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const CONTENT: bool = true;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (file, bytes, project) = context.read(|db, project| {
            let file = agent_files::get(db, project, &self.path)?;
            let bytes = blobs::show(db, file.blob)?;
            Ok((file, bytes, project.name.clone()))
        })?;
        let mut data = data(&project, &file);
        let body = match String::from_utf8(bytes) {
            Ok(text) => {
                data["text"] = text.as_str().into();
                Body::Text(text)
            }
            Err(error) => {
                let uri = format!("file:///{}", crate::uri::encode(&file.path));
                Body::Media(Media { uri, mime_type: None, bytes: error.into_bytes() })
            }
        };
        Ok(Reply::new(body, data))
    }
}

/// Remove an agent-specific file
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Path that the file was imported from, such as .claude/settings.json
    #[arg(add = AGENT_FILES)]
    path: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_agent_file";
    const CLI: &'static [&'static str] = &["agent-file", "remove"];
    const TITLE: &'static str = "Remove an agent's file";
    const ABOUT: &'static str = "Remove one of the project's agent-specific files";
    const HELP: &'static str = "Agent-specific files have no history, so you cannot restore a removed file. If a \
        deploy has written the file, the next deploy deletes the written copy.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg agent-file remove .cursor/hooks.json"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.path.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (file, project) = context.write("agent_file.remove", &self.path, |db, project, _| {
            Ok((agent_files::delete(db, project, &self.path)?, project.name.clone()))
        })?;
        let sentence = format!("Removed `{}` from project '{project}' (agent: {})", file.path, file.agent);
        Ok(Reply::sentence(sentence, data(&project, &file)))
    }
}
