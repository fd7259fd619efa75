//! The JSON Schema of workflows. `mcpkg://schema/workflow` returns it, and workflow texts are validated against it.

use std::sync::LazyLock;

use serde_json::Value;

use super::definition::Definition;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = mcpkg_core::schema::generate::<Definition>();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.to_value()
});

pub fn of_workflow() -> &'static Value {
    &SCHEMA
}
