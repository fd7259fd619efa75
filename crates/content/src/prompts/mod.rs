//! Operations on prompts, one file per command.

pub mod create;
pub mod list;
pub mod rename;
pub mod show;
pub mod update;

mod declared;

use serde_json::{Value, json};

use mcpkg_store::prompts::Prompt;

pub(super) use declared::{check, declare};

pub(super) fn data(project: &str, prompt: &Prompt) -> Value {
    json!({
        "name": prompt.name,
        "project": project,
        "id": prompt.uuid.to_string(),
        "revision": prompt.revision,
        "size": prompt.size,
    })
}
