//! `mcpkg resource delete`: deletes a resource and keeps its history.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::completions::RESOURCES;
use crate::{GROUP, answer};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::resources;
use mcpkg_store::revisions::Kind;

/// Delete a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Resource name
    #[arg(add = RESOURCES)]
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_resource";
    const CLI: &'static [&'static str] = &["resource", "delete"];
    const TITLE: &'static str = "Delete resource";
    const ABOUT: &'static str = "Delete a resource from the selected project";
    const HELP: &'static str = "mcpkg keeps the resource's history: to restore the resource, use `mcpkg resource \
        restore NAME REVISION`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg resource delete api-docs"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (resource, project) = context.write("resource.delete", &self.name, |db, project, author| {
            Ok((resources::delete(db, author, project, &self.name)?, project.name.clone()))
        })?;
        let data = data(&project, &resource);
        Ok(answer::deleted(Kind::Resource, &resource.name, resource.revision, &project, data))
    }
}
