//! Manages specs of changes in OpenSpec's layout: a folder with a proposal, a design and tasks.
//!
//! The root of a workspace and each repository can have a tree of specs. The documents are the users' files: mcpkg
//! reads them only below the root, and does not store them in the database.

mod branches;
mod decisions;
mod markdown;
mod metadata;
mod named;
mod opened;
mod operations;
#[cfg(test)]
mod properties;
mod questions;
mod report;
mod scaffold;
mod status;
mod tasks;
mod trees;

use std::ffi::OsStr;

use serde_json::Value;

use super::root::Workspace;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Entry};
use trees::Trees;

pub use opened::Which;

pub const OPS: &[Entry] = operations::OPS;

/// Returns a document of a spec, unchanged.
///
/// # Errors
/// `E_NOT_FOUND` if the spec or the document does not exist; `E_INVALID_ARGUMENT` if several specs have this name;
/// `E_IO_INVALID_PATH` if the document is a link, or if a link leads out of the workspace; `E_FILE_FAILED` if the
/// document is too large or not UTF-8.
pub fn document(workspace: &Workspace, name: &str, which: Which) -> Result<String> {
    let mut trees = Trees::of(workspace);
    let found = trees.find(name)?;
    let folder = opened::folder_of(&mut trees, &found)?;
    opened::text(&folder, OsStr::new(which.file()))?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("Spec '{}' has no {}", found.qualified(), which.file()))
            .with_details(serde_json::json!({ "spec": found.qualified() }))
    })
}

/// Returns the reply of `smctl_spec_status` without a name: all specs.
pub fn list(context: &Context, workspace: &Workspace) -> Result<Value> {
    let (all, warnings) = status::all(context, workspace);
    Ok(with(status::object(&all)?, warnings))
}

/// Returns the reply of `smctl_spec_status` for one spec.
///
/// # Errors
/// `E_NOT_FOUND` with the closest name; `E_INVALID_ARGUMENT` if several specs have this name; `E_IO_INVALID_PATH` if a
/// link leads out of the workspace.
pub fn status(context: &Context, workspace: &Workspace, name: &str) -> Result<Value> {
    let (status, warnings) = status::one(context, workspace, name)?;
    Ok(with(status.value()?, warnings))
}

/// Returns the names of open specs. A name that several repositories share is prefixed with its repository.
pub fn names(workspace: &Workspace) -> Vec<String> {
    named::open(workspace)
}

/// Adds the warnings to a reply, if there are any.
fn with(mut object: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        object["warnings"] = warnings.into();
    }
    object
}
