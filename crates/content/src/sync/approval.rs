//! The folders that this user synced on this machine. Folders named by a database from somebody else do not count.

use std::path::Path;

use serde_json::json;

use mcpkg_base::approved::Kind;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;

/// Whether this user synced the project with the folder on this machine.
pub(super) fn is_given(context: &Context, project: &Project, folder: &Path) -> Result<bool> {
    Ok(context.approved.get(Kind::Sync, &key(project, folder))?.is_some())
}

/// Keeps it that this user syncs the project with the folder.
///
/// # Errors
/// `E_UNAPPROVED` if the user has no home, `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
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
