//! `mcpkg toolset add` and `remove`: change which tools are in a toolset.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CHANGES, TOOLSETS, add, data, write};
use crate::GROUP;
use crate::alias;
use crate::installed::TOOLS;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::toolsets;

/// Add tools to a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// The name of the toolset
    #[arg(add = TOOLSETS)]
    name: String,
    /// Installed tools to add, such as alice/utils/weather
    #[arg(value_name = "TOOL", required = true, add = TOOLS)]
    tools: Vec<String>,
}

impl Operation for Add {
    const TOOL: &'static str = "add_to_toolset";
    const CLI: &'static [&'static str] = &["toolset", "add"];
    const TITLE: &'static str = "Add tools to a toolset";
    const ABOUT: &'static str = "Add installed tools to a toolset";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset add web-dev alice/utils/weather"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (added, data) = write(context, "toolset.add", &self.name, |db| {
            let set = toolsets::get(db, &self.name)?;
            let added = add(context, db, set.id, &self.tools)?;
            Ok((added, data(db, &toolsets::get(db, &self.name)?)?))
        })?;
        let sentence = match added.as_slice() {
            [] => format!("Toolset '{}' already has these tools", self.name),
            added => format!("Added {} to toolset '{}'", added.join(", "), self.name),
        };
        Ok(Reply::sentence(sentence, data))
    }
}

/// Remove tools from a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// The name of the toolset
    #[arg(add = TOOLSETS)]
    name: String,
    /// Tools to remove from the toolset
    #[arg(value_name = "TOOL", required = true, add = TOOLS)]
    tools: Vec<String>,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_from_toolset";
    const CLI: &'static [&'static str] = &["toolset", "remove"];
    const TITLE: &'static str = "Remove tools from a toolset";
    const ABOUT: &'static str = "Remove tools from a toolset; the tools stay installed";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset remove web-dev alice/utils/weather"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let data = write(context, "toolset.remove", &self.name, |db| {
            let set = toolsets::get(db, &self.name)?;
            for tool in &self.tools {
                let tool = &alias::expanded_in(db, context, tool)?;
                if !toolsets::take_out(db, set.id, tool)? {
                    let known = toolsets::tools(db, set.id)?;
                    let error = Error::new(Code::NotFound, format!("Toolset '{}' has no tool '{tool}'", self.name));
                    let otherwise = format!("`mcpkg toolset show {}` lists its tools", self.name);
                    return Err(error.suggest(tool, known.iter().map(String::as_str), otherwise));
                }
            }
            data(db, &toolsets::get(db, &self.name)?)
        })?;
        Ok(Reply::sentence(format!("Removed {} from toolset '{}'", self.tools.join(", "), self.name), data))
    }
}
