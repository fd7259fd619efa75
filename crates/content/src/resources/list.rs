//! `mcpkg resource list`: lists resources with their URIs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{GROUP, answer};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, Operation, Reply, Table};
use mcpkg_store::resources::{self, Resource};

/// List resources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Value of next_cursor from the previous page
    #[arg(long)]
    cursor: Option<String>,
    /// Maximum number of resources per page
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of resources
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    resources: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    uri: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    size: i64,
}

impl Operation for List {
    const TOOL: &'static str = "list_resources";
    const CLI: &'static [&'static str] = &["resource", "list"];
    const TITLE: &'static str = "List resources";
    const ABOUT: &'static str = "List the documents, images, skills and other resources stored in the selected project";
    const EXAMPLES: &'static [&'static str] = &["mcpkg resource list", "mcpkg resource list --limit 20 --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const LISTS: Option<&'static str> = Some("resources");
    type Output = Listed;

    fn is_hot(&self) -> bool {
        answer::is_one_page(self.limit)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (slice, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("resources", self.cursor.as_deref(), self.limit, context, project.id)?;
            let slice = resources::overview(db, project.id, &page)?;
            let next = answer::next_cursor("resources", project.id, &slice, |resource| &resource.name);
            Ok((slice, project.name.clone(), next))
        })?;
        let rows = slice
            .rows
            .iter()
            .map(|resource| {
                vec![
                    resource.name.clone(),
                    resource.attributes.uri.clone(),
                    resource.attributes.mime_type.clone().unwrap_or_default(),
                    resource.size.to_string(),
                    resource.revision.to_string(),
                    rfc3339(resource.updated_at),
                    resource.attributes.description.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let resources = slice
            .rows
            .into_iter()
            .map(|Resource { name, attributes, size, .. }| Item {
                uri: attributes.uri,
                name,
                description: attributes.description,
                mime_type: attributes.mime_type,
                size,
            })
            .collect();
        let table = Table {
            columns: &["NAME", "URI", "MIME TYPE", "BYTES", "REVISION", "UPDATED", "DESCRIPTION"],
            rows,
            empty: format!("Project '{project}' has no resources"),
        };
        let body = answer::listed(context, table, next_cursor.as_deref());
        Reply::written(context, body, &Listed { resources, next_cursor })
    }
}
