//! `mcpkg catalog show`: shows a catalog and its settings.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::CATALOGS;
use crate::GROUP;
use crate::api::catalog::{self, Catalog, effect_word};
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use mcpkg_store::catalogs;

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
    const ABOUT: &'static str = "Show an API's base URL and commands, and where its secrets are stored";
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
        let (mut commands, mut cells, mut reasons): (Vec<Value>, Vec<Vec<String>>, String) = Default::default();
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
                (Some(why), _) => {
                    reasons.push_str(&format!("{} cannot be run: {}\n", spec.id, cell(why)));
                    "not run"
                }
                (None, false) => "patched",
                (None, true) => "",
            };
            let request = format!("{} {}", row.method, row.path);
            let texts = [&*spec.id, effect_word(spec.effect), note, &request];
            cells.push(texts.map(|text| cell(text).into_owned()).to_vec());
        }
        let mut data = catalog.data();
        data["approved"] = json!(catalog.is_approved(context)?);
        let facts: String = data.as_object().into_iter().flatten().map(|(key, value)| lines(key, value)).collect();
        data["commands"] = Value::Array(commands);
        let columns = &["ID", "EFFECT", "NOTE", "REQUEST"];
        let table = Table { columns, rows: cells, empty: "This catalog has no commands".to_owned() };
        let mut parts = vec![Body::Text(facts), Body::Table(table)];
        if !reasons.is_empty() {
            parts.push(Body::Text(reasons));
        }
        Ok(Reply::new(Body::Several(parts), data))
    }
}

/// Formats a field as one line, or a list or an object as one line for each element.
fn lines(key: &str, value: &Value) -> String {
    let of = |text: &str| format!("{key}: {}\n", cell(text));
    let each = |text: &str| format!("{}: {}\n", key.trim_end_matches('s'), cell(text));
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(values) => {
            let one =
                |fields: &Value| fields.as_object().into_iter().flat_map(Map::values).map(plain).collect::<Vec<_>>();
            values.iter().map(|fields| each(&one(fields).join("  "))).collect()
        }
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| each(&format!("{name}  {}", plain(value)))).collect()
        }
        value => of(&plain(value)),
    }
}
