//! `mcpkg workflow rename`: renames a saved workflow.

use schemars::JsonSchema;
use serde::Deserialize;

use super::model::{self, Model};
use super::{approval, data};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use crate::exposed::check_name;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows::{self, Action, Change, exposed};

/// Rename a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rename {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
    /// New name of the workflow
    to: String,
}

impl Operation for Rename {
    const TOOL: &'static str = "rename_workflow";
    const CLI: &'static [&'static str] = &["workflow", "rename"];
    const TITLE: &'static str = "Rename a workflow";
    const ABOUT: &'static str = "Rename a workflow, keeping its history";
    const HELP: &'static str =
        "mcpkg changes the name in the workflow's text, and leaves the rest of the text unchanged.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow rename app_with_db app_with_postgres"];
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
        model::check_name(&self.to)?;
        let (workflow, project, text) = context.write("workflow.rename", &self.name, |db, project, author| {
            let before = workflows::get(db, project, &self.name)?;
            if exposed::find(db, &context.selection, &self.name)?.is_some() {
                check_name(&self.to)?;
            }
            let text = model::renamed(&model::stored(db, before.blob)?, &self.to)?;
            let renamed = Model::of(&text)?;
            let change = Change::plain(Action::Rename);
            let workflow = workflows::update(db, author, project, &before, renamed.stored(&text), change)?;
            Ok((workflow, project.name.clone(), text))
        })?;
        approval::approve(context, &project, &workflow.name, &text)?;
        let sentence = format!("Renamed workflow '{}' to '{}' in project '{project}'", self.name, self.to);
        Ok(Reply::sentence(sentence, data(&project, &workflow)))
    }
}
