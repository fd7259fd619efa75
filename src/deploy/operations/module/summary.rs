//! A module as data and in a line, for the commands on modules.

use serde_json::{Value, json};

use crate::deploy::project::catalog::Listed;
use crate::store::modules::Row;

/// The targets that a row names.
pub(super) fn targets(row: &Row) -> String {
    if row.targets.is_empty() { "all".to_owned() } else { row.targets.join(",") }
}

/// What a module is, in a line.
pub(super) fn described(module: &Listed) -> String {
    let tags = if module.row.tags.is_empty() { String::new() } else { format!(", tags {}", module.row.tags.join(",")) };
    let enabled = if module.row.enabled { "" } else { ", not enabled" };
    format!("{}: {}, targets {}{tags}{enabled}", module.id, module.kind.word(), targets(&module.row))
}

/// The data of a module.
pub(super) fn data(module: &Listed) -> Value {
    json!({
        "id": module.id,
        "type": module.kind.word(),
        "targets": module.row.targets,
        "tags": module.row.tags,
        "enabled": module.row.enabled,
        "item": module.row.item,
        "files": module.parts.len(),
    })
}
