//! `get_workflow`, `mcpkg workflow show`: shows a saved workflow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::text;
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use crate::{GROUP, answer};
use mcpkg_base::error::Result;
use mcpkg_content::answer::check_size;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape};
use mcpkg_store::{blobs, workflows};

/// Show a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
    /// Earlier revision to show, even if the workflow was deleted
    #[arg(long)]
    revision: Option<i64>,
}

/// A workflow's text
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    name: String,
    /// Revision of this text. A draft that changes the workflow is based on this revision
    revision: i64,
    yaml: String,
}

impl Operation for Show {
    const TOOL: &'static str = "get_workflow";
    const CLI: &'static [&'static str] = &["workflow", "show"];
    const TITLE: &'static str = "Get workflow";
    const ABOUT: &'static str = "Get the text of one of the project's workflows";
    const HELP: &'static str = "The output is the stored text of the workflow, including its comments.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow show app_with_db", "mcpkg workflow show app_with_db --revision 2"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = Shown;

    fn is_hot(&self) -> bool {
        true
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (name, revision, bytes) = context.read(|db, project| {
            let (name, revision, blob, size) = match self.revision {
                Some(number) => {
                    let found = workflows::revision(db, project, &self.name, number)?;
                    (found.name, found.number, found.blob, found.size)
                }
                None => {
                    let found = workflows::get(db, project, &self.name)?;
                    (found.name, found.revision, found.blob, found.size)
                }
            };
            let what = || format!("Workflow '{name}'");
            let how = || format!("mcpkg workflow export {name} --to FILE");
            check_size(size, context.max_answer, what, how)?;
            Ok((name, revision, blobs::show(db, blob)?))
        })?;
        let yaml = text(bytes)?;
        let data = answer::data(&Shown { name, revision, yaml: yaml.clone() })?;
        Ok(Reply::new(Body::Text(yaml), data))
    }
}
