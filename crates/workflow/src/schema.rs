//! The JSON Schema of a workflow: what `mcpkg://schema/workflow` answers, and what the shape of a text is checked against.

use std::sync::LazyLock;

use serde_json::Value;

use super::definition::Definition;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = mcpkg_core::schema::generate::<Definition>();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.to_value()
});

/// Returns the JSON Schema of a workflow's text.
pub fn of_workflow() -> &'static Value {
    &SCHEMA
}
