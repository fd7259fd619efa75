//! `mcpkg prompt rename`: renames a prompt and keeps its history.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::completions::PROMPTS;
use crate::{GROUP, answer};
use mcpkg_base::error::Result;
use mcpkg_core::names;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::blobs;
use mcpkg_store::modules::{self, Row};
use mcpkg_store::prompts;

/// Rename a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rename {
    /// Prompt name
    #[arg(add = PROMPTS)]
    name: String,
    /// New name of the prompt
    to: String,
}

impl Operation for Rename {
    const TOOL: &'static str = "rename_prompt";
    const CLI: &'static [&'static str] = &["prompt", "rename"];
    const TITLE: &'static str = "Rename prompt";
    const ABOUT: &'static str = "Rename a prompt; the prompt keeps its history";
    const EXAMPLES: &'static [&'static str] = &["mcpkg prompt rename code-review review"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Prompt", &self.to)?;
        let (prompt, project) = context.write("prompt.rename", &self.name, |db, project, author| {
            let mut prompt = prompts::get(db, project, &self.name)?;
            prompt.name.clone_from(&self.to);
            // Forget the file that the prompt was imported from, because the new name also determines the name of the
            // command's file.
            prompt.attributes.file = None;
            let content = answer::text(blobs::get(db, prompt.blob)?)?;
            let prompt = prompts::update(db, author, project, prompt, "rename", &content)?;
            let item = format!("prompt:{}", prompt.uuid);
            let row = modules::all(db, project.id)?.into_iter().find(|row| row.item == item && row.path.is_some());
            row.map(|row| modules::put(db, project.id, &Row { path: None, ..row })).transpose()?;
            Ok((prompt, project.name.clone()))
        })?;
        let sentence = format!("Renamed prompt '{}' to '{}' in project '{project}'", self.name, self.to);
        Ok(Reply::sentence(sentence, data(&project, &prompt)))
    }
}
