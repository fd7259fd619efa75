//! `mcpkg source list`: lists where the project's content comes from.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::offer::{self, short};
use super::reference::shown;
use crate::GROUP;
use mcpkg_base::clock;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::sources::{self, Origin, SourceRow};

/// List sources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_sources";
    const CLI: &'static [&'static str] = &["source", "list"];
    const TITLE: &'static str = "List sources";
    const ABOUT: &'static str = "List the repositories and folders that the project's content comes from";
    const EXAMPLES: &'static [&'static str] = &["mcpkg source list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("sources");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let rows = context.read(|db, project| {
            let rows = sources::list(db, project.id)?;
            rows.into_iter().map(|row| Ok((sources::count(db, row.id)?, row))).collect::<Result<Vec<_>>>()
        })?;
        let cells = rows.iter().map(|(count, row)| {
            let Origin { name, url, commit, .. } = &row.origin;
            let commit = commit.as_deref().map_or("", short).to_owned();
            let updated = clock::rfc3339(row.updated_at);
            vec![name.clone(), followed(&row.origin), commit, count.to_string(), updated, place(url, &row.origin.path)]
        });
        let columns = &["NAME", "FOLLOWS", "COMMIT", "FILES", "UPDATED", "WHERE"];
        let empty = "No sources. Add one with `mcpkg source add`".to_owned();
        let table = Table { columns, rows: cells.collect(), empty };
        let list: Vec<Value> = rows.iter().map(|(count, row)| data(row, *count)).collect();
        Ok(Reply::new(Body::Table(table), json!({ "sources": list })))
    }
}

/// Describes what a source follows: `branch main`, `tag v1`, `commit` or `folder`.
pub(super) fn followed(origin: &Origin) -> String {
    match (&origin.reference, &origin.commit) {
        (Some(reference), _) => shown(reference).replace('\'', ""),
        (None, Some(_)) => "commit".to_owned(),
        (None, None) => "folder".to_owned(),
    }
}

fn place(url: &str, path: &str) -> String {
    if path.is_empty() { url.to_owned() } else { format!("{url}//{path}") }
}

pub(super) fn data(row: &SourceRow, items: i64) -> Value {
    let mut data = offer::data(&row.origin);
    data["items"] = items.into();
    data["added_at"] = clock::rfc3339(row.added_at).into();
    data["updated_at"] = clock::rfc3339(row.updated_at).into();
    data
}
