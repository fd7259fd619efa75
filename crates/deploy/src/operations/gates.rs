//! Checks that commands make before they write files.

use serde_json::json;

use crate::plan::Change;
use crate::plan::prepare::Prepared;
use crate::source::Adopted;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;

/// Returns the error for a call that would write files but was not confirmed.
pub fn unconfirmed(command: &str) -> Error {
    Error::new(Code::ConfirmRequired, format!("`{command}` writes files, but was not approved; nothing was changed"))
        .with_details(json!({ "command": command }))
        .hint("--yes approves it")
}

/// Refuses changes to files that mcpkg did not write, or that were changed since mcpkg wrote them, unless the user
/// adopts these files. `look` is the command that shows these changes.
pub fn check_adopt(changes: &[Change], adopted: &Adopted, look: &str) -> Result<()> {
    let refused = changes.iter().filter(|change| change.adopt && !adopted.has(&change.path));
    let mut paths: Vec<String> = refused.map(|change| change.path.display().to_string()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    paths.sort_unstable();
    let count = paths.len();
    paths.truncate(20);
    let (first, files) = (&paths[0], plural::count(count, "file"));
    Err(Error::new(
        Code::AdoptConfirmRequired,
        format!(
            "This would change or delete {files} that mcpkg did not write, or that changed after mcpkg wrote them, \
                such as `{first}`"
        ),
    )
    .with_details(json!({ "flag": "--adopt", "adopt_updates": count, "sample_paths": paths }))
    .hint(format!(
        "review these files with `{look}`; --adopt overwrites the files and keeps the old content for a rollback"
    )))
}

/// Refuses a module id that the source does not have.
///
/// # Errors
/// `E_NOT_FOUND`, with a suggestion: the id that was probably meant.
pub fn check_module(prepared: &Prepared, id: &str) -> Result<()> {
    let mut left_out = prepared.plan.desired.left_out.iter();
    if prepared.kinds.contains_key(id) || left_out.any(|left_out| left_out.module_id == id) {
        return Ok(());
    }
    let error = Error::new(Code::NotFound, format!("There is no module '{}'", id.escape_debug()))
        .with_details(json!({ "module_id": id }));
    let known = prepared.kinds.keys().map(String::as_str);
    Err(error.suggest(id, known, "`mcpkg explain plan` lists the modules"))
}
