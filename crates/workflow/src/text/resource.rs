//! The MCP resource `mcpkg://schema/workflow`: the JSON Schema of workflows.

use crate::definition;
use mcpkg_core::op::{Resource, Validator};

const MIME_TYPE: &str = "application/schema+json";

pub const RESOURCES: &[Resource] = &[SCHEMA];

const SCHEMA: Resource = Resource {
    uri: "mcpkg://schema/workflow",
    name: "workflow schema",
    title: "Form of a workflow",
    description: "The JSON Schema of a workflow's text",
    mime_type: Some(MIME_TYPE),
    read: |_, contents| {
        let shell = || "mcpkg serve".to_owned();
        contents.text(Some(MIME_TYPE), &definition::schema().to_string(), &shell)?;
        Ok(true)
    },
    // The schema changes only with the version of mcpkg.
    validator: |_| Validator::of(&env!("CARGO_PKG_VERSION")).map(Some),
    ..Resource::EMPTY
};
