//! `mcpkg catalog show`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::CATALOGS;
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use crate::store::catalogs;
use crate::workflow::GROUP;
use crate::workflow::api::approval;
use crate::workflow::api::catalog::{self, Catalog, effect_word};

/// Show a catalog
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the catalog
    #[arg(add = CATALOGS)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_catalog";
    const CLI: &'static [&'static str] = &["catalog", "show"];
    const TITLE: &'static str = "Show a catalog";
    const ABOUT: &'static str = "Show where an API is served, where its secrets are kept, and its commands";
    const EXAMPLES: &'static [&'static str] = &["mcpkg catalog show hosting"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (catalog, rows) = context.store.read(|db| {
            let row = catalogs::get(db, &self.name)?;
            let commands = catalogs::commands(db, row.id)?;
            Ok((Catalog::of(row)?, commands))
        })?;
        let (mut commands, mut cells): (Vec<Value>, Vec<Vec<String>>) = Default::default();
        for row in &rows {
            let spec = catalog.command(row)?;
            let patch = catalog::patch(row)?;
            let mut data = json!({
                "id": spec.id,
                "method": row.method,
                "path": row.path,
                "summary": spec.summary,
                "effect": spec.effect,
                "idempotency": spec.idempotency,
                "runnable": spec.runnable,
            });
            if let Some(why_not) = &spec.why_not {
                data["why_not"] = json!(why_not);
            }
            if !patch.is_empty() {
                data["patch"] = json!(patch);
            }
            commands.push(data);
            let note = match (&spec.why_not, patch.is_empty()) {
                (Some(why), _) => format!("not run: {why}"),
                (None, false) => "patched".to_owned(),
                (None, true) => String::new(),
            };
            let request = format!("{} {}", row.method, row.path);
            let texts = [&*spec.id, effect_word(spec.effect), &request, &note];
            cells.push(texts.map(|text| cell(text).into_owned()).to_vec());
        }
        let mut data = catalog.data();
        data["approved"] = json!(approval::is_approved(context, &catalog)?);
        let facts: String = data.as_object().into_iter().flatten().map(|(key, value)| line(key, value)).collect();
        data["commands"] = Value::Array(commands);
        let columns = &["ID", "EFFECT", "REQUEST", "NOTE"];
        let table = Table { columns, rows: cells, empty: "It has no command".to_owned() };
        Ok(Reply::new(Body::Several(vec![Body::Text(facts), Body::Table(table)]), data))
    }
}

/// Returns a fact as a line.
fn line(key: &str, value: &Value) -> String {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("{key}: {}\n", cell(&value))
}
