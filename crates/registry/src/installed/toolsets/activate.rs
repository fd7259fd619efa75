//! `mcpkg toolset use`: chooses the toolset that limits what agents see.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, TOOLSETS, write};
use crate::GROUP;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::toolsets;

/// Limit agents to a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Use {
    /// The name of the toolset
    #[arg(add = TOOLSETS)]
    name: Option<String>,
    /// Show agents every installed tool again
    #[arg(long, conflicts_with = "name")]
    #[serde(default)]
    all: bool,
}

impl Operation for Use {
    const TOOL: &'static str = "use_toolset";
    const CLI: &'static [&'static str] = &["toolset", "use"];
    const TITLE: &'static str = "Limit agents to a toolset";
    const ABOUT: &'static str = "Show agents only the tools of one toolset; this also applies to running servers";
    const HELP: &'static str = "Agents can neither see nor call tools outside the active toolset. To limit only one server, start it \
        with `mcpkg serve --toolset NAME`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset use web-dev", "mcpkg toolset use --all"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Some(name) = &self.name else {
            if !self.all {
                return Err(Error::new(Code::InvalidArgument, "No toolset given")
                    .hint("pass a toolset name, or --all to show every installed tool"));
            }
            write(context, "toolset.use", "", |db| {
                toolsets::activate(db, None)?;
                toolsets::follow(db, None)
            })?;
            return Ok(Reply::sentence("Agents see every installed tool", json!({ "activeToolset": null })));
        };
        let set = write(context, "toolset.use", name, |db| {
            let set = toolsets::get(db, name)?;
            toolsets::activate(db, Some(set.id))?;
            Ok(set)
        })?;
        let sentence = format!("Agents see only the tools of toolset '{name}' ({})", set.tools);
        Ok(Reply::sentence(sentence, json!({ "activeToolset": name })))
    }
}
