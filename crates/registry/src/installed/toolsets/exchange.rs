//! `mcpkg toolset export` and `import`: toolsets as JSON, in the format of Enact's `mcp.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::create::check_name;
use super::{CHANGES, installed, write};
use crate::GROUP;
use crate::installed::visible;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::toolsets;

/// The format of Enact's `mcp.json` ("MCP Tools Configuration" in contract 002). Other keys are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sets {
    toolsets: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    active_toolset: Option<String>,
}

/// Write the toolsets as JSON
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Export {}

impl Operation for Export {
    const TOOL: &'static str = "export_toolsets";
    const CLI: &'static [&'static str] = &["toolset", "export"];
    const TITLE: &'static str = "Write the toolsets as JSON";
    const ABOUT: &'static str =
        "Write installed tools and toolsets to standard output, in the format of Enact's mcp.json";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset export"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let data = context.store.read(|db| {
            let mut tools = BTreeMap::new();
            for install in visible::all(db, &context.audience())?.into_iter().filter(|install| install.active) {
                tools.entry(install.name).or_insert(install.version);
            }
            let mut sets = BTreeMap::new();
            for set in toolsets::list(db)? {
                sets.insert(set.name.clone(), toolsets::tools(db, set.id)?);
            }
            let active = toolsets::active(db)?.map(|set| set.name);
            Ok(json!({ "tools": tools, "toolsets": sets, "activeToolset": active }))
        })?;
        Ok(Reply::new(Body::Text(format!("{data:#}\n")), data))
    }
}

/// Import toolsets from JSON
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// File in the format of Enact's mcp.json
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Operation for Import {
    const TOOL: &'static str = "import_toolsets";
    const CLI: &'static [&'static str] = &["toolset", "import"];
    const TITLE: &'static str = "Import toolsets from JSON";
    const ABOUT: &'static str = "Import the toolsets in an mcp.json file, either all of them or none";
    const HELP: &'static str = "mcpkg leaves tools that are not installed out of the toolsets, and prints a warning. The active toolset \
        does not change.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset import mcp.json"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.file.display().to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let text = file::read_text(&self.file, file::TEXT).map_err(|error| Error::file("read", &self.file, error))?;
        let sets: Sets = serde_json::from_str(&text).map_err(|error| {
            let what = format!("`{}` is not a valid toolset file: {error}", self.file.display());
            Error::new(Code::InvalidArgument, what).hint(r#"the format is {"toolsets": {"NAME": ["TOOL"]}}"#)
        })?;
        let mut missing = Vec::new();
        write(context, "toolset.import", &self.subject(), |db| {
            let known = installed(db)?;
            for (name, tools) in &sets.toolsets {
                check_name(name)?;
                let id = toolsets::create(db, name, context.clock.now())?;
                for tool in tools {
                    match known.contains(tool) {
                        true => drop(toolsets::add(db, id, tool)?),
                        false => missing.push(format!("toolset '{name}': left out '{tool}', which is not installed")),
                    }
                }
            }
            Ok(())
        })?;
        let names: Vec<&String> = sets.toolsets.keys().collect();
        let sentence = format!("Made {}", plural::count(names.len(), "toolset"));
        let mut reply =
            Reply::sentence(sentence, json!({ "toolsets": names, "missing": missing })).warn(missing.clone());
        if let Some(active) = sets.active_toolset {
            reply =
                reply.hint(format!("to activate the toolset that is active in the file: `mcpkg toolset use {active}`"));
        }
        Ok(reply)
    }
}
