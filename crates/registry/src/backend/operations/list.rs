//! `mcpkg registry list`: lists the registries.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::data;
use crate::GROUP;
use crate::backend::Known;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};

/// List registries
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_registries";
    const CLI: &'static [&'static str] = &["registry", "list"];
    const TITLE: &'static str = "List registries";
    const ABOUT: &'static str = "List the registries in the order in which mcpkg asks them";
    const EXAMPLES: &'static [&'static str] = &["mcpkg registry list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("registries");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let known = Known::all(context)?;
        let list = known.iter().map(|known| data(context, known)).collect::<Result<Vec<Value>>>()?;
        let rows = known.iter().zip(&list).map(|(known, data)| {
            let (kind, location) = match &known.place {
                Some(place) => (place.kind.word(), place.location.clone()),
                None => ("local", "this database".to_owned()),
            };
            let used = if data["approved"] == true { "yes" } else { "no" };
            vec![known.name.clone(), kind.to_owned(), known.priority().to_string(), used.to_owned(), location]
        });
        let columns = &["NAME", "KIND", "PRIORITY", "USED", "WHERE"];
        let table = Table { columns, rows: rows.collect(), empty: String::new() };
        let reply = Reply::new(Body::Table(table), json!({ "registries": list }));
        Ok(match list.iter().find(|data| data["approved"] == false) {
            Some(data) => {
                let name = data["name"].as_str().unwrap_or_default();
                reply.hint(format!(
                    "you have not approved '{name}' on this machine; `mcpkg tool search --registry {name} WORDS` asks for your approval"
                ))
            }
            None => reply,
        })
    }
}
