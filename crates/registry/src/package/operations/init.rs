//! `mcpkg tool init`: creates a new package.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::package::Name;
use crate::package::scaffold::Scaffold;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Create a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Init {
    /// Name of the tool, such as alice/utils/weather
    name: String,
    /// Folder to create the tool in [default: the last part of the name]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Kind of tool to create
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    kind: Scaffold,
}

impl Operation for Init {
    const TOOL: &'static str = "init_tool";
    const CLI: &'static [&'static str] = &["tool", "init"];
    const TITLE: &'static str = "Create a tool";
    const ABOUT: &'static str = "Create a new tool: a package that passes `mcpkg tool validate`";
    const HELP: &'static str = "This command never overwrites files, and refuses a folder that already has a manifest.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool init alice/weather",
        "mcpkg tool init alice/hash --kind wasm",
        "mcpkg tool init alice/guides/review ./review --kind document",
    ];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn writes_files(&self) -> bool {
        true
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        let name = Name::parse(&self.name)?;
        let last = name.segments().last().unwrap_or_default().trim_start_matches('@');
        let folder = self.folder.unwrap_or_else(|| PathBuf::from(last));
        let files = self.kind.write(&name, &folder)?;
        let shown = folder.display().to_string();
        let sentence = format!("Created the tool {name} in `{shown}` with {}", plural::count(files.len(), "file"));
        let reply = Reply::sentence(sentence, json!({ "name": name, "folder": shown, "files": files })).hint(format!(
            "after your changes, check the tool with `mcpkg tool validate {}`",
            mcpkg_base::shell::quote(&shown)
        ));
        Ok(match name.is_publishable() {
            true => reply,
            false => reply.hint("to pack the tool, put the publisher in front of its name, as in alice/weather"),
        })
    }
}
