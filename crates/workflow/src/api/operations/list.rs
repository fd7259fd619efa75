//! `mcpkg catalog list`: lists the catalogs.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::api::catalog::Catalog;
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use mcpkg_store::catalogs;

/// List catalogs
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_catalogs";
    const CLI: &'static [&'static str] = &["catalog", "list"];
    const TITLE: &'static str = "List catalogs";
    const ABOUT: &'static str = "List imported APIs, each with its base URL and command count";
    const EXAMPLES: &'static [&'static str] = &["mcpkg catalog list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("catalogs");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let found = context.store.read(|db| {
            let rows = catalogs::list(db)?.into_iter();
            rows.map(|row| Ok((catalogs::count(db, row.id)?, Catalog::of(row)?))).collect::<Result<Vec<_>>>()
        })?;
        let (mut list, mut rows): (Vec<Value>, Vec<Vec<String>>) = Default::default();
        for (count, catalog) in &found {
            let used = catalog.is_approved(context)?;
            let mut data = catalog.data();
            (data["commands"], data["approved"]) = (json!(count), json!(used));
            list.push(data);
            let base_url = catalog.base_url.clone().unwrap_or_else(|| "-".to_owned());
            let used = if used { "yes" } else { "no" };
            let cells = [&*catalog.name, &catalog.title, &catalog.version, &count.to_string(), used, &base_url];
            rows.push(cells.map(|text| cell(text).into_owned()).to_vec());
        }
        let columns = &["NAME", "TITLE", "VERSION", "COMMANDS", "USED", "SERVED AT"];
        let empty = "No catalogs yet. Import one with `mcpkg catalog import FILE`".to_owned();
        Ok(Reply::new(Body::Table(Table { columns, rows, empty }), json!({ "catalogs": list })))
    }
}
