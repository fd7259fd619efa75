//! Describes an archive's actions for `tools/list`. The result is cached, since it depends only on the archive.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::checked;
use crate::package::manifest::{Action, Manifest};
use crate::trust::Subject;
use mcpkg_base::cache::Cache;
use mcpkg_base::error::Result;
use mcpkg_base::sha256::Sha;
use mcpkg_core::op::Hints;
use mcpkg_store::Db;

/// Actions by the SHA-256 of their archive.
static KEPT: Cache<Sha, Arc<[ActionTool]>> = Cache::new(2_048);

/// An action as `tools/list` shows it.
#[derive(Debug)]
pub struct ActionTool {
    /// The action's name; empty for the main action.
    pub action: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input: Arc<Map<String, Value>>,
    /// The JSON Schema of the result, which always describes an object.
    pub output: Option<Arc<Map<String, Value>>>,
    /// Whether a result is wrapped as `{"result": ...}` because it is not an object.
    pub wraps: bool,
    pub hints: Hints,
}

/// Returns the actions of an archive that become MCP tools.
pub fn of(db: &Db<'_>, subject: &Subject) -> Result<Arc<[ActionTool]>> {
    if let Some(shown) = KEPT.get(&subject.sha256) {
        return Ok(shown);
    }
    let manifest = checked::manifest_of(db, subject)?;
    let shown: Arc<[ActionTool]> =
        manifest.projected().into_iter().map(|(name, action)| show(&manifest, name, action)).collect();
    KEPT.put(subject.sha256, Arc::clone(&shown));
    Ok(shown)
}

fn show(manifest: &Manifest, name: Option<&str>, action: Option<&Action>) -> ActionTool {
    let described = action.and_then(|action| action.description.clone());
    let output = action.and_then(|action| action.output_schema.as_ref());
    let annotations = action.and_then(|action| action.annotations.as_ref());
    let hint = |key: &str| annotations.and_then(|said| said.get(key)).and_then(Value::as_bool);
    ActionTool {
        action: name.unwrap_or_default().to_owned(),
        description: described.unwrap_or_else(|| manifest.description.clone()),
        input: Arc::new(input(action)),
        output: output.map(|schema| Arc::new(as_object(schema))),
        wraps: output.is_some_and(|schema| !describes_object(schema)),
        hints: Hints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            // mcpkg cannot tell whether a tool is idempotent: without its author's hint, it counts as not idempotent.
            idempotent: hint("idempotentHint").or(Some(false)),
            open_world: hint("openWorldHint"),
        },
    }
}

/// Returns the input schema of an action. An action without one gets a schema in which each parameter of its command is
/// a required string.
pub fn input(action: Option<&Action>) -> Map<String, Value> {
    if let Some(Value::Object(schema)) = action.and_then(|action| action.input_schema.as_ref()) {
        return schema.clone();
    }
    let names = action.map(|action| action.command.parameters()).unwrap_or_default();
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let mut schema =
        Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(properties))]);
    if !names.is_empty() {
        schema.insert("required".to_owned(), json!(names));
    }
    schema
}

fn describes_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Returns an output schema that describes an object, as MCP requires; other schemas are wrapped as `result`.
fn as_object(schema: &Value) -> Map<String, Value> {
    match schema {
        Value::Object(object) if describes_object(schema) => object.clone(),
        schema => {
            let wrapped = json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
            wrapped.as_object().cloned().unwrap_or_default()
        }
    }
}
