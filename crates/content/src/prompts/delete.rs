//! `mcpkg prompt delete`: deletes a prompt and keeps its history.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::completions::PROMPTS;
use crate::{GROUP, answer};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::prompts;
use mcpkg_store::revisions::Kind;

/// Delete a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Prompt name
    #[arg(add = PROMPTS)]
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_prompt";
    const CLI: &'static [&'static str] = &["prompt", "delete"];
    const TITLE: &'static str = "Delete prompt";
    const ABOUT: &'static str = "Delete a prompt from the selected project";
    const HELP: &'static str = "mcpkg keeps the prompt's history: to restore the prompt, use `mcpkg prompt \
        restore NAME REVISION`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg prompt delete code-review"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (prompt, project) = context.write("prompt.delete", &self.name, |db, project, author| {
            Ok((prompts::delete(db, author, project, &self.name)?, project.name.clone()))
        })?;
        let data = data(&project, &prompt);
        Ok(answer::deleted(Kind::Prompt, &prompt.name, prompt.revision, &project, data))
    }
}
