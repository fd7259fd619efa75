//! Describes a module as JSON and as a line of text, for the commands on modules.

use serde_json::{Value, json};

use crate::module::Kind;
use crate::project::stored_module::StoredModule;
use mcpkg_store::modules::{Applies, Row};

/// Returns the targets of a module, or `all`.
pub(super) fn targets(row: &Row) -> String {
    if row.targets.is_empty() { "all".to_owned() } else { row.targets.join(",") }
}

/// Returns when a module's instructions apply. Empty for other kinds of modules.
pub(super) fn applies(module: &StoredModule) -> String {
    if module.kind != Kind::Instructions {
        return String::new();
    }
    match &module.row.applies {
        Applies::Always => "always".to_owned(),
        Applies::Globs(globs) => globs.join(" "),
        Applies::Described => "described".to_owned(),
        Applies::Manual => "manual".to_owned(),
    }
}

/// Describes a module in one line.
pub(super) fn described(module: &StoredModule) -> String {
    let tags = if module.row.tags.is_empty() { String::new() } else { format!(", tags {}", module.row.tags.join(",")) };
    let enabled = if module.row.enabled { "" } else { ", not enabled" };
    let applies = match &module.row.applies {
        Applies::Always => String::new(),
        Applies::Globs(_) => format!(", applies to {}", applies(module)),
        Applies::Described | Applies::Manual => format!(", applies {}", applies(module)),
    };
    format!("{}: {}, targets {}{applies}{tags}{enabled}", module.id, module.kind.word(), targets(&module.row))
}

pub(super) fn data(module: &StoredModule) -> Value {
    let mut data = json!({
        "id": module.id,
        "type": module.kind.word(),
        "targets": module.row.targets,
        "tags": module.row.tags,
        "enabled": module.row.enabled,
        "item": module.row.item,
        "files": module.parts.len(),
    });
    if module.kind == Kind::Instructions {
        data["applies"] = json!(module.row.applies);
    }
    data
}
