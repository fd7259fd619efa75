//! `mcpkg://schema/workflow`.

use crate::schema;
use mcpkg_core::op::{Resource, Validator};

const MIME_TYPE: &str = "application/schema+json";

/// The resources, in documentation order.
pub const RESOURCES: &[Resource] = &[SCHEMA];

/// The JSON Schema of a workflow's text, for authors of workflows.
const SCHEMA: Resource = Resource {
    uri: "mcpkg://schema/workflow",
    name: "workflow schema",
    title: "Form of a workflow",
    description: "The JSON Schema of a workflow's text",
    mime_type: Some(MIME_TYPE),
    read: |_, contents| {
        let shell = || "mcpkg serve".to_owned();
        contents.text(Some(MIME_TYPE), &schema::of_workflow().to_string(), &shell)?;
        Ok(true)
    },
    // It is of this program, and changes with it alone.
    validator: |_| Validator::of(&env!("CARGO_PKG_VERSION")).map(Some),
    ..Resource::EMPTY
};
