//! What the writing commands refuse.

use serde_json::json;

use crate::error::{Code, Error};

/// The failure of a call that would write and was not approved.
pub fn unconfirmed(command: &str) -> Error {
    Error::new(Code::ConfirmRequired, format!("`{command}` writes, and was not approved; nothing was changed"))
        .with_details(json!({ "command": command }))
        .hint("pass yes=true, or --yes from the shell")
}
