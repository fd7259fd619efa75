//! `mcpkg draft list`: lists the drafts of a project.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kept::data;
use crate::answer::VERSION;
use crate::{GROUP, answer};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::hex::tail;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table, cell};
use mcpkg_store::drafts::{self, Draft};

/// List drafts
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Also list drafts that were approved or rejected
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Value of next_cursor from the previous page
    #[arg(long)]
    cursor: Option<String>,
    /// Maximum number of drafts per page
    #[arg(long)]
    limit: Option<u32>,
}

impl Operation for List {
    const TOOL: &'static str = "list_drafts";
    const CLI: &'static [&'static str] = &["draft", "list"];
    const TITLE: &'static str = "List drafts";
    const ABOUT: &'static str = "List the drafts that are waiting for a decision";
    const EXAMPLES: &'static [&'static str] = &["mcpkg draft list", "mcpkg draft list --all --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("drafts");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (found, project, next) = context.read(|db, project| {
            let page = answer::page("drafts", project.id, self.cursor.as_deref(), self.limit, context)?;
            let slice = drafts::list(db, project.id, !self.all, &page)?;
            let last = slice.rows.last().filter(|_| slice.more).map(|last| last.uuid.to_string());
            Ok((slice.rows, project.name.clone(), answer::next("drafts", project.id, last.as_deref())?))
        })?;
        let row = |draft: &Draft| {
            vec![
                tail(draft.uuid),
                draft.name.clone(),
                draft.state.word().to_owned(),
                draft.base.map(|base| base.revision.to_string()).unwrap_or_default(),
                rfc3339(draft.created_at),
                draft.actor.clone(),
                draft.message.as_deref().map(|message| cell(message).into_owned()).unwrap_or_default(),
            ]
        };
        let table = Table {
            columns: &["ID", "WORKFLOW", "STATE", "FROM", "MADE", "BY", "WHY"],
            rows: found.iter().map(row).collect(),
            empty: format!("Project '{}' has no pending drafts", project),
        };
        let drafts: Vec<Value> = found.iter().map(|draft| Value::Object(data(&project, draft))).collect();
        let mut data = json!({ "drafts": drafts });
        if let Some(next) = next {
            data["next_cursor"] = next.into();
        }
        Ok(Reply::new(Body::Table(table), data))
    }
}
