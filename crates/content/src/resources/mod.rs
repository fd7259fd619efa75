//! Operations on resources, one file per command.

pub mod create;
pub mod list;
mod of_domain;
pub mod show;
pub mod update;

use serde_json::{Value, json};

use mcpkg_store::resources::Resource;

pub(super) fn data(project: &str, resource: &Resource) -> Value {
    json!({
        "name": resource.name,
        "uri": resource.attributes.uri,
        "project": project,
        "id": resource.uuid.to_string(),
        "mime_type": resource.attributes.mime_type,
        "text": resource.attributes.text,
        "revision": resource.revision,
        "size": resource.size,
    })
}
