//! `mcpkg registry remove`: removes a registry. Tools that were installed from it stay.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{ADDED, CHANGES};
use crate::GROUP;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::registries::{self, LOCAL};
use mcpkg_store::tools::{answers, listings};

/// Remove a registry
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Name of the registry
    #[arg(add = ADDED)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_registry";
    const CLI: &'static [&'static str] = &["registry", "remove"];
    const TITLE: &'static str = "Remove a registry";
    const ABOUT: &'static str = "Remove a registry; tools installed from it stay installed, and mcpkg still remembers the digests of its \
        archives";
    const EXAMPLES: &'static [&'static str] = &["mcpkg registry remove team"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if self.name == LOCAL {
            return Err(Error::new(
                Code::InvalidArgument,
                "Cannot remove the registry 'local': it is part of this database",
            ));
        }
        let author = context.author();
        context.store.write(|db| {
            let row = registries::get(db, &self.name)?;
            listings::replace(db, &self.name, &[])?;
            answers::remove_all(db, &self.name)?;
            registries::delete(db, row.id)?;
            context.event(db, author, None, "registry.remove", &self.name)
        })?;
        let sentence = format!("Removed the registry '{}'; tools installed from it stay installed", self.name);
        Ok(Reply::sentence(sentence, json!({ "name": self.name, "removed": true })))
    }
}
