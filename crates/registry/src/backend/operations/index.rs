//! `mcpkg registry index`: rebuilds the index of a folder registry from its files.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{ADDED, CHANGES};
use crate::GROUP;
use crate::backend::Known;
use crate::backend::approval::Use;
use crate::backend::directory::Directory;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::registries::Kind;

/// Rebuild a registry's index
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Index {
    /// Name of a registry that is a folder
    #[arg(add = ADDED)]
    name: String,
}

impl Operation for Index {
    const TOOL: &'static str = "index_registry";
    const CLI: &'static [&'static str] = &["registry", "index"];
    const TITLE: &'static str = "Rebuild a registry's index";
    const ABOUT: &'static str = "Rebuild a folder registry's search index from its tools";
    const HELP: &'static str = "Publishing a tool updates the index. Run this command only after you have added or deleted tools in the \
        registry's folder by hand.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg registry index shared"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let known = Known::named(context, &self.name)?;
        let Some(place) = known.place.filter(|place| place.kind == Kind::Directory) else {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("Cannot rebuild the index of registry '{}': it is not a folder", self.name),
            )
            .hint("a registry on another host updates its own index"));
        };
        Use(&place).require(context)?;
        let tools = Directory::new(context, &self.name, Path::new(&place.location)).index()?;
        let sentence = format!(
            "The index of '{}' lists {}",
            self.name,
            plural::count(i64::try_from(tools).unwrap_or(i64::MAX), "tool")
        );
        Ok(Reply::sentence(sentence, json!({ "name": self.name, "tools": tools })))
    }
}
