//! `mcpkg prompt list`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::declared::Declared;
use crate::clock::rfc3339;
use crate::content::{GROUP, answer, cursor};
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, Operation, Reply, Table};
use crate::store::prompts::{self, Prompt};

/// List prompts
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// next_cursor of the page before
    #[arg(long)]
    cursor: Option<String>,
    /// Most prompts a page holds
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of prompts
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    prompts: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<Declared>>,
}

impl Operation for List {
    const TOOL: &'static str = "list_prompts";
    const CLI: &'static [&'static str] = &["prompt", "list"];
    const TITLE: &'static str = "List prompts";
    const ABOUT: &'static str = "List the prompts, commands and instructions stored in the selected project";
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    type Output = Listed;

    fn run(self, context: &Context) -> Result<Reply> {
        let (slice, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("prompts", self.cursor.as_deref(), self.limit, context, project.id)?;
            let slice = prompts::overview(db, project.id, &page)?;
            let last = slice.rows.last().filter(|_| slice.more);
            let next = last.map(|prompt| cursor::encode("prompts", project.id, &prompt.name));
            Ok((slice, project.name.clone(), next))
        })?;
        let rows = slice
            .rows
            .iter()
            .map(|prompt| {
                vec![
                    prompt.name.clone(),
                    prompt.size.to_string(),
                    prompt.revision.to_string(),
                    rfc3339(prompt.updated_at),
                    prompt.attributes.description.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let prompts = slice
            .rows
            .into_iter()
            .map(|Prompt { name, attributes, .. }| Item {
                name,
                description: attributes.description,
                arguments: (!attributes.arguments.is_empty())
                    .then(|| attributes.arguments.into_iter().map(Declared::from).collect()),
            })
            .collect();
        let table = Table {
            columns: &["NAME", "BYTES", "REVISION", "UPDATED", "DESCRIPTION"],
            rows,
            empty: format!("Project '{project}' has no prompts"),
        };
        let data = answer::serialize(&Listed { prompts, next_cursor })?;
        Ok(Reply::new(Body::Table(table), data))
    }
}
