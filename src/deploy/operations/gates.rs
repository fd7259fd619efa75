//! What the writing commands refuse.

use serde_json::json;

use crate::deploy::plan::Change;
use crate::error::{Code, Error, Result};
use crate::plural;

/// The failure of a call that would write and was not approved.
pub fn unconfirmed(command: &str) -> Error {
    Error::new(Code::ConfirmRequired, format!("`{command}` writes, and was not approved; nothing was changed"))
        .with_details(json!({ "command": command }))
        .hint("pass yes=true, or --yes from the shell")
}

/// Refuses what would overwrite or delete what mcpkg did not write, or what was changed since, unless that was said to be
/// wanted; `look` is the command that shows it.
///
/// # Errors
/// `E_ADOPT_CONFIRM_REQUIRED`.
pub fn check_adopt(changes: &[Change], adopt: bool, look: &str) -> Result<()> {
    let mut paths: Vec<String> =
        changes.iter().filter(|change| change.adopt).map(|change| change.path.display().to_string()).collect();
    if adopt || paths.is_empty() {
        return Ok(());
    }
    paths.sort_unstable();
    let count = paths.len();
    paths.truncate(20);
    let (first, files) = (&paths[0], plural::count(count, "file"));
    Err(Error::new(
        Code::AdoptConfirmRequired,
        format!(
            "{files} that mcpkg did not write, or that changed since, would be changed or deleted, such as `{first}`"
        ),
    )
    .with_details(json!({ "flag": "--adopt", "adopt_updates": count, "sample_paths": paths }))
    .hint(format!("look at them with `{look}`; --adopt (adopt=true) goes on, and keeps their bytes for a rollback")))
}
