//! `list_workflows`, `mcpkg workflow list`: lists the saved workflows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::VERSION;
use crate::{GROUP, answer};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, PAGE, Rate, Reply, Shape, Table, cell};
use mcpkg_store::workflows::{self, Workflow};

/// List workflows
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Value of next_cursor from the previous page
    #[arg(long)]
    cursor: Option<String>,
    /// Maximum number of workflows per page
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of workflows
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    workflows: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    revision: i64,
    updated_at: String,
}

impl Operation for List {
    const TOOL: &'static str = "list_workflows";
    const CLI: &'static [&'static str] = &["workflow", "list"];
    const TITLE: &'static str = "List workflows";
    const ABOUT: &'static str = "List the project's workflows";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow list", "mcpkg workflow list --limit 20 --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("workflows");
    type Output = Listed;

    fn is_hot(&self) -> bool {
        self.limit.is_none_or(|limit| limit as usize <= PAGE)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (found, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("workflows", project.id, self.cursor.as_deref(), self.limit, context)?;
            let slice = workflows::list(db, project.id, &page)?;
            let last = slice.rows.last().filter(|_| slice.more).map(|last| last.name.as_str());
            let next = answer::next("workflows", project.id, last)?;
            Ok((slice.rows, project.name.clone(), next))
        })?;
        let row = |workflow: &Workflow| {
            let about = workflow.summary.title.as_ref().or(workflow.summary.description.as_ref());
            vec![
                workflow.name.clone(),
                workflow.size.to_string(),
                workflow.revision.to_string(),
                rfc3339(workflow.updated_at),
                about.map(|about| cell(about).into_owned()).unwrap_or_default(),
            ]
        };
        let table = Table {
            columns: &["NAME", "BYTES", "REVISION", "UPDATED", "DESCRIPTION"],
            rows: found.iter().map(row).collect(),
            empty: format!("Project '{project}' has no workflows. Import one with `mcpkg workflow import FILE`"),
        };
        let item = |workflow: Workflow| Item {
            name: workflow.name,
            title: workflow.summary.title,
            description: workflow.summary.description,
            revision: workflow.revision,
            updated_at: rfc3339(workflow.updated_at),
        };
        let workflows = found.into_iter().map(item).collect();
        Ok(Reply::new(Body::Table(table), answer::data(&Listed { workflows, next_cursor })?))
    }
}
