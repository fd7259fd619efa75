//! Workflows of a project: their texts, revisions, fixtures, templates, and permissions.

pub mod exposed;
pub mod fixtures;
pub mod templates;

mod read;
mod revisions;
mod row;
mod settings;
mod workflow;
mod write;

pub use read::{by_uuid, find, get, list, missing, names, validator, with};
pub(super) use revisions::revision_from_row;
pub use revisions::{Revision, history, last, oldest, revision};
pub(super) use revisions::{forget, outdated, workflow_revision_columns};
pub(super) use row::{from_row, workflow_columns};
pub use settings::{Variable, policy, set_policy, set_variable, unset_variable, variable, variable_names, variables};
pub use workflow::{Action, Change, New, Summary, Workflow};
pub use write::{delete, insert, restore, update};
