//! `mcpkg toolset list` and `show`: list toolsets and their tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{TOOLSETS, data, installed};
use crate::GROUP;
use crate::installed::visible;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use mcpkg_store::tools::toolsets;

/// List toolsets
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_toolsets";
    const CLI: &'static [&'static str] = &["toolset", "list"];
    const TITLE: &'static str = "List toolsets";
    const ABOUT: &'static str = "List the toolsets, and show which one is active";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("toolsets");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (sets, data) = context.store.read(|db| {
            let sets = toolsets::list(db)?;
            let data = sets.iter().map(|set| data(db, set)).collect::<Result<Vec<_>>>()?;
            Ok((sets, data))
        })?;
        let rows = sets.iter().map(|set| {
            let active = if set.active { "yes" } else { "" };
            vec![set.name.clone(), active.to_owned(), set.tools.to_string(), rfc3339(set.created_at)]
        });
        let table = Table {
            columns: &["NAME", "ACTIVE", "TOOLS", "CREATED"],
            rows: rows.collect(),
            empty: "There are no toolsets: agents see every installed tool".to_owned(),
        };
        Ok(Reply::new(Body::Table(table), json!({ "toolsets": data })))
    }
}

/// Show a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// The name of the toolset
    #[arg(add = TOOLSETS)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_toolset";
    const CLI: &'static [&'static str] = &["toolset", "show"];
    const TITLE: &'static str = "Show a toolset";
    const ABOUT: &'static str = "Show the tools of a toolset, and which of them are no longer installed";
    const EXAMPLES: &'static [&'static str] = &["mcpkg toolset show web-dev"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (rows, data) = context.store.read(|db| {
            let set = toolsets::get(db, &self.name)?;
            let known = installed(db)?;
            let mut rows = Vec::new();
            for tool in toolsets::tools(db, set.id)? {
                let version = match visible::active(db, &context.audience(), &tool)? {
                    Some(install) => install.version,
                    None if known.contains(&tool) => "not in this scope".to_owned(),
                    None => "not installed".to_owned(),
                };
                rows.push(vec![cell(&tool).into_owned(), version]);
            }
            Ok((rows, data(db, &set)?))
        })?;
        let empty = format!("Toolset '{}' has no tools", self.name);
        Ok(Reply::new(Body::Table(Table { columns: &["TOOL", "VERSION"], rows, empty }), data))
    }
}
