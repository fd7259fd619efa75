//! Manages the saved workflows of a project.

pub mod approval;
pub mod changes;
pub mod delete;
pub mod edit;
pub mod env;
pub mod export;
pub mod history;
pub mod import;
pub mod list;
pub mod mend;
pub mod model;
pub mod policy;
pub mod rename;
pub mod show;

pub(super) mod resource;

use serde_json::{Value, json};

use mcpkg_core::op::Entry;
use mcpkg_store::workflows::Workflow;

pub(super) const OPS: &[Entry] = &[
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<import::Import>(),
    Entry::of::<export::Export>(),
    Entry::of::<edit::Edit>(),
    Entry::of::<rename::Rename>(),
    Entry::of::<delete::Delete>(),
    Entry::of::<history::History>(),
    Entry::of::<history::Diff>(),
    Entry::of::<history::Restore>(),
    Entry::of::<policy::Policy>(),
    Entry::of::<env::Set>(),
    Entry::of::<env::Unset>(),
    Entry::of::<env::List>(),
];

pub(super) fn data(project: &str, workflow: &Workflow) -> Value {
    json!({
        "name": workflow.name,
        "project": project,
        "id": workflow.uuid.to_string(),
        "revision": workflow.revision,
        "size": workflow.size,
        "model_hash": mcpkg_base::hex::encode(&workflow.summary.model_hash),
    })
}
