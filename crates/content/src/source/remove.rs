//! `mcpkg source remove`: forgets a source. Its items become ordinary items of the project.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::completions::SOURCES;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::sources;

/// Remove a source
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Name of the source
    #[arg(add = SOURCES)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_source";
    const CLI: &'static [&'static str] = &["source", "remove"];
    const TITLE: &'static str = "Remove a source";
    const ABOUT: &'static str = "Remove a source; its items stay in the project";
    const EXAMPLES: &'static [&'static str] = &["mcpkg source remove kit"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (items, project) = context.write("source.remove", &self.name, |db, project, _| {
            let row = sources::get(db, project, &self.name)?;
            let items = sources::count(db, row.id)?;
            sources::delete(db, row.id)?;
            Ok((items, project.name.clone()))
        })?;
        let sentence = format!(
            "Removed the source '{}' from project '{project}'; the project keeps {}",
            self.name,
            plural::count(items, "item")
        );
        Ok(Reply::sentence(sentence, json!({ "project": project, "name": self.name, "items": items })))
    }
}
