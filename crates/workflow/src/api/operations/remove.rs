//! `mcpkg catalog remove`: removes a catalog with its commands.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CATALOGS, CHANGES, get};
use crate::GROUP;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::catalogs;

/// Remove a catalog
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Name of the catalog
    #[arg(add = CATALOGS)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_catalog";
    const CLI: &'static [&'static str] = &["catalog", "remove"];
    const TITLE: &'static str = "Remove a catalog";
    const ABOUT: &'static str = "Remove an API with its commands and corrections";
    const EXAMPLES: &'static [&'static str] = &["mcpkg catalog remove hosting"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn question(&self) -> String {
        format!("Remove the catalog '{}' with its commands and corrections?", self.name)
    }

    fn look(&self, context: &Context) -> Result<()> {
        get(context, &self.name).map(drop)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let author = context.author();
        context.store.write(|db| {
            let row = catalogs::get(db, &self.name)?;
            catalogs::delete(db, row.id)?;
            context.event(db, author, None, "catalog.remove", &self.name)
        })?;
        let sentence = format!("Removed the catalog '{}'", self.name);
        Ok(Reply::sentence(sentence, json!({ "name": self.name, "removed": true })))
    }
}
