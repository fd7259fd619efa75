//! `mcpkg module remove`: excludes a module from deploys.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::completions::MODULES;
use crate::project::catalog;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::modules::{self, Row};

/// Remove a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Module, such as skill:review
    #[arg(add = MODULES)]
    id: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_module";
    const CLI: &'static [&'static str] = &["module", "remove"];
    const TITLE: &'static str = "Remove a module";
    const ABOUT: &'static str = "Remove a module from deploys; the module's prompt or resources stay in the project";
    const HELP: &'static str = "If you added the module with `mcpkg module add`, the module becomes a plain resource again. Any other \
        module is only disabled. The next deploy deletes the files that were deployed for the module.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg module remove skill:pdf"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (before, project) = context.write("module.remove", &self.id, |db, project, _| {
            let before = catalog::get(db, project, &self.id)?;
            if before.is_added() {
                modules::delete(db, project.id, &before.row.item)?;
            } else {
                modules::put(db, project.id, &Row { enabled: false, ..before.row.clone() })?;
            }
            Ok((before, project.name.clone()))
        })?;
        let (sentence, back) = if before.is_added() {
            let name = before.parts.first().map_or(String::new(), |part| part.source.name().to_owned());
            (format!("Removed module '{}' from project '{project}'", before.id), format!("module add {name}"))
        } else {
            let sentence = format!("Module '{}' of project '{project}' is no longer deployed", before.id);
            (sentence, format!("module set {} --enabled true", before.id))
        };
        Ok(Reply::sentence(sentence, json!({ "id": before.id })).hint(format!("`mcpkg {back}` restores the module")))
    }
}
