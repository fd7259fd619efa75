//! Records the folders that this user has synced on this machine. A database from somebody else may name other folders; mcpkg
//! ignores those.

use std::path::Path;

use serde_json::json;

use mcpkg_base::approved::Kind;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;

/// Returns whether this user has synced the project with the folder on this machine.
pub(super) fn is_given(context: &Context, project: &Project, folder: &Path) -> Result<bool> {
    Ok(context.approved.get(Kind::Sync, &key(project, folder))?.is_some())
}

/// Records that this user syncs the project with the folder.
pub(super) fn give(context: &Context, project: &Project, folder: &Path) -> Result<()> {
    if is_given(context, project, folder)? {
        return Ok(());
    }
    let note = json!({ "path": folder.display().to_string(), "project": project.uuid.to_string() });
    context.approved.put(Kind::Sync, &key(project, folder), &note)
}

fn key(project: &Project, folder: &Path) -> String {
    let text = [project.uuid.as_bytes(), folder.as_os_str().as_encoded_bytes()].concat();
    hex::encode(&NewContent::from(text).sha256())
}
