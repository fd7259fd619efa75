//! Converts a parameter's value to text, or uses its default.

use serde_json::{Value, json};

use super::CallArguments;
use crate::package::schema::{is_required, property};
use mcpkg_base::error::{Code, Error, Result};

/// The maximum size in bytes of an argument including its final NUL; this is the limit of Linux.
pub(super) const MAX_ARGUMENT: usize = 128 << 10;

pub(super) struct Text {
    pub(super) text: String,
    /// Whether the text may start an argument with `-`.
    pub(super) may_be_option: bool,
}

/// Returns the text of a parameter; `None` if it is optional and missing.
///
/// # Errors
/// `E_TOOL_INPUT` if it is required and missing, or contains NUL.
pub(super) fn text(given: &CallArguments<'_>, name: &str) -> Result<Option<Text>> {
    let property = given.schema.and_then(|schema| property(schema, name));
    let Some(value) = given.values.get(name).or_else(|| property.and_then(|property| property.default())) else {
        return match is_required(given.schema, name) {
            true => Err(refused(name, format!("'{name}' is required"))),
            false => Ok(None),
        };
    };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains('\0') {
        return Err(refused(name, format!("the value of '{name}' contains NUL, which is not allowed in an argument")));
    }
    let may_be_option = !value.is_string() || property.is_some_and(|property| property.takes_dashes());
    Ok(Some(Text { text, may_be_option }))
}

/// Refuses an argument that is too long for the system.
pub(super) fn check_length(name: &str, argument: &str) -> Result<()> {
    if argument.len() < MAX_ARGUMENT {
        return Ok(());
    }
    let why = format!(
        "with the value of '{name}', an argument is {} bytes long, which is more than the system allows",
        argument.len()
    );
    Err(refused(name, why).hint(format!("the tool can read the value from a file instead: {{{{file:{name}}}}}")))
}

/// Returns the error for an invalid value.
pub(super) fn refused(name: &str, why: String) -> Error {
    let details = json!({ "errors": [{ "path": format!("/{name}"), "message": why }] });
    Error::new(Code::ToolInput, why).with_details(details)
}
