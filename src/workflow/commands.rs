//! The commands that a caller may reach: mcpkg's own operations that have a tool.

use std::sync::Arc;

use serde_json::{Value, json};

use super::source::{Commands, Resolved};
use super::spec::{CommandSpec, ProviderContract};
use crate::error::{Error, Result, nearest};
use crate::op::{Context, Effect, Entry};
use crate::operations;

/// The commands that a caller may reach.
pub struct Reachable<'c> {
    context: &'c Context,
}

/// Returns the commands that a caller may reach.
pub fn reachable(context: &Context) -> Reachable<'_> {
    Reachable { context }
}

impl Reachable<'_> {
    fn entries(&self) -> impl Iterator<Item = (String, &'static Entry)> + use<'_> {
        let may_write = self.context.store.may_write();
        let served = operations().filter(move |entry| entry.faces.tool() && (may_write || entry.effect.reads()));
        served.map(|entry| (format!("mcpkg:{}", entry.cli.join(":")), entry))
    }
}

impl Commands for Reachable<'_> {
    fn resolve(&self, typed: &str) -> Result<Resolved> {
        let id = typed.replace(' ', ":");
        let ids: Vec<String> = self.entries().map(|(id, _)| id).collect();
        match self.entries().find(|(known, _)| *known == id) {
            Some((id, entry)) => spec(&id, entry).map(Arc::new).map(Resolved::One),
            None => Ok(Resolved::None(
                nearest(&id, ids.iter().map(String::as_str)).map(str::to_owned).into_iter().collect(),
            )),
        }
    }

    fn provider(&self, _id: &str) -> Result<Option<Arc<ProviderContract>>> {
        Ok(None)
    }

    fn has_group(&self, group: &str) -> Result<bool> {
        Ok(group == "mcpkg")
    }
}

fn spec(id: &str, entry: &Entry) -> Result<CommandSpec> {
    let schema = entry.input_schema();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let flags = schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, property)| {
        let kind = property.get("type").and_then(Value::as_str).unwrap_or("any");
        json!({ "name": name, "type": kind, "required": required.contains(&json!(name)) })
    });
    let (effect, idempotency) = match entry.effect {
        Effect::Read => ("read", "safe"),
        Effect::Destroy => ("destroy", "none"),
        Effect::Write => ("write", "idempotent"),
        Effect::Offer | Effect::Create => ("write", "none"),
    };
    let spec = json!({
        "id": id, "group": "mcpkg", "name": id.trim_start_matches("mcpkg:"), "summary": entry.about, "source": "operations",
        "effect": effect, "idempotency": idempotency, "flags": flags.collect::<Vec<_>>(), "positionals": [],
        "output_contract": { "fields": [] }, "runnable": true,
    });
    serde_json::from_value(spec).map_err(|error| Error::internal("an operation is no command").with_source(error))
}
