//! `mcpkg access list`: lists the access keys.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::standing::{data, may, project_is_gone, project_name, state};
use crate::access::GROUP;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_store::access::{self, Key};
use mcpkg_store::page::Page;

/// List access keys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_access_keys";
    const CLI: &'static [&'static str] = &["access", "list"];
    const TITLE: &'static str = "List access keys";
    const ABOUT: &'static str = "List access keys: what each key can access, when the key expires, and whether it \
        is still valid";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("keys");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let now = context.clock.now();
        let keys = context.store.read(|db| {
            let keys = access::list(db, &Page::all())?.rows;
            keys.into_iter().map(|key| Ok((project_name(db, key.project)?, key))).collect::<Result<Vec<_>>>()
        })?;
        let row = |(project, key): &(Option<String>, Key)| {
            let all = if key.project.is_none() { "all" } else { "" };
            vec![
                key.name.clone(),
                project.as_deref().unwrap_or(all).to_owned(),
                may(key),
                rfc3339(key.created_at),
                key.expires_at.map_or_else(|| "never".to_owned(), rfc3339),
                state(key, project_is_gone(key, project.as_deref()), now).to_owned(),
            ]
        };
        let table = Table {
            columns: &["NAME", "PROJECT", "MAY", "CREATED", "EXPIRES", "STATE"],
            rows: keys.iter().map(row).collect(),
            empty: "No access keys yet. Create one with `mcpkg access create NAME`".to_owned(),
        };
        let data: Vec<Value> = keys.iter().map(|(project, key)| data(key, project.as_deref(), now)).collect();
        Ok(Reply::new(Body::Table(table), json!({ "keys": data })))
    }
}
