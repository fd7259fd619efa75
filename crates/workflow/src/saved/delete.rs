//! `mcpkg workflow delete`: deletes a saved workflow.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows;

/// Delete a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_workflow";
    const CLI: &'static [&'static str] = &["workflow", "delete"];
    const TITLE: &'static str = "Delete a workflow";
    const ABOUT: &'static str = "Delete a workflow from the selected project";
    const HELP: &'static str = "mcpkg keeps the workflow's history: to restore the workflow, use `mcpkg workflow restore NAME \
        REVISION`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow delete app_with_db"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::TOOLS;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (workflow, project) = context.write("workflow.delete", &self.name, |db, project, author| {
            Ok((workflows::delete(db, author, project, &self.name)?, project.name.clone()))
        })?;
        let (name, before) = (&workflow.name, workflow.revision.saturating_sub(1));
        let sentence = format!("Deleted workflow '{name}' from project '{project}'");
        Ok(Reply::sentence(sentence, data(&project, &workflow))
            .hint(format!("restore the workflow with `mcpkg workflow restore {name} {before}`")))
    }
}
