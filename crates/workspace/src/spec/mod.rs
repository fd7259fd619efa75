//! Specs of changes, in OpenSpec's layout: a folder with a proposal, a design and tasks.
//!
//! The root of a workspace has a tree of them, and each repository has one. Documents are the users' files: they are read
//! below the root alone, and nothing of them is kept in the database.

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

/// The operations of specs.
pub const OPS: &[Entry] = operations::OPS;

/// Returns a document of a spec, to the byte.
///
/// # Errors
/// `E_NOT_FOUND` where there is no such spec, or it has no such document; `E_INVALID_ARGUMENT` where several specs have the name;
/// `E_IO_INVALID_PATH` where a link leads out of the workspace, or the document is one; `E_FILE_FAILED` where it is too large or
/// no UTF-8.
pub fn document(workspace: &Workspace, name: &str, which: Which) -> Result<String> {
    let mut trees = Trees::of(workspace);
    let found = trees.find(name)?;
    let folder = opened::folder_of(&mut trees, &found)?;
    opened::text(&folder, OsStr::new(which.file()))?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("Spec '{}' has no {}", found.qualified(), which.file()))
            .with_details(serde_json::json!({ "spec": found.qualified() }))
    })
}

/// Returns what `smctl_spec_status` answers where no spec is named.
pub fn list(context: &Context, workspace: &Workspace) -> Result<Value> {
    let (all, warnings) = status::all(context, workspace);
    Ok(with(status::object(&all)?, warnings))
}

/// Returns what `smctl_spec_status` answers for a spec.
///
/// # Errors
/// `E_NOT_FOUND` with the nearest name; `E_INVALID_ARGUMENT` where several have it; `E_IO_INVALID_PATH` where a link leads out of
/// the workspace.
pub fn status(context: &Context, workspace: &Workspace, name: &str) -> Result<Value> {
    let (status, warnings) = status::one(context, workspace, name)?;
    Ok(with(status.value()?, warnings))
}

/// Returns the names of the open specs, each as it has to be written: with its repository where several have the name.
pub fn names(workspace: &Workspace) -> Vec<String> {
    named::open(workspace)
}

/// Adds the warnings as the tool's answer has them.
fn with(mut object: Value, warnings: Vec<String>) -> Value {
    if !warnings.is_empty() {
        object["warnings"] = warnings.into();
    }
    object
}
