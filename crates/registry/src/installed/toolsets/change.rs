//! `mcpkg toolset rename` and `delete`: rename and delete toolsets.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::create::check_name;
use super::{CHANGES, TOOLSETS, data, write};
use crate::GROUP;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::toolsets;

/// Rename a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rename {
    /// The name of the toolset
    #[arg(add = TOOLSETS)]
    name: String,
    /// The new name of the toolset
    to: String,
}

impl Operation for Rename {
    const TOOL: &'static str = "rename_toolset";
    const CLI: &'static [&'static str] = &["toolset", "rename"];
    const TITLE: &'static str = "Rename a toolset";
    const ABOUT: &'static str = "Rename a toolset; an active toolset stays active";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset rename web-dev frontend"];
    const ALIASES: &'static [&'static str] = &["mv"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        check_name(&self.to)?;
        let data = write(context, "toolset.rename", &self.name, |db| {
            toolsets::rename(db, toolsets::get(db, &self.name)?.id, &self.to)?;
            data(db, &toolsets::get(db, &self.to)?)
        })?;
        Ok(Reply::sentence(format!("Renamed toolset '{}' to '{}'", self.name, self.to), data))
    }
}

/// Delete a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// The name of the toolset
    #[arg(add = TOOLSETS)]
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_toolset";
    const CLI: &'static [&'static str] = &["toolset", "delete"];
    const TITLE: &'static str = "Delete a toolset";
    const ABOUT: &'static str = "Delete a toolset; its tools stay installed";
    const HELP: &'static str =
        "You cannot delete the active toolset, since agents would then see every installed tool.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset delete web-dev"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn question(&self) -> String {
        format!("Delete toolset '{}'?", self.name)
    }

    fn look(&self, context: &Context) -> Result<()> {
        context.store.read(|db| toolsets::get(db, &self.name).map(drop))
    }

    fn run(self, context: &Context) -> Result<Reply> {
        write(context, "toolset.delete", &self.name, |db| {
            let set = toolsets::get(db, &self.name)?;
            if set.active {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!("Cannot delete toolset '{}': it is the active toolset", self.name),
                )
                .hint("activate another toolset with `mcpkg toolset use NAME`, or show every tool with `mcpkg toolset use --all`"));
            }
            toolsets::delete(db, set.id)
        })?;
        Ok(Reply::sentence(format!("Deleted toolset '{}'", self.name), json!({ "name": self.name })))
    }
}
