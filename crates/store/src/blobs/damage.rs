//! Values and contents that mcpkg would never have written.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::sums::DAMAGED;
use mcpkg_base::error::{Code, Error, Result};

/// Returns the error for a value that mcpkg would never have written.
pub fn damaged_value(what: &str) -> Error {
    Error::new(Code::Damaged, format!("The database is damaged: {what}"))
        .hint("`mcpkg check --deep` shows details; `mcpkg restore FILE` restores a backup")
}

/// Parses JSON that mcpkg wrote into the database. `what` names it in errors.
pub fn stored_json<T: DeserializeOwned>(json: &str, what: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| damaged_value(&format!("{what} is malformed")).with_source(error))
}

/// Parses JSON that mcpkg wrote and that is only shown. Returns [`DAMAGED`] if it cannot be parsed.
pub fn shown_json(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| DAMAGED.into())
}

pub(crate) fn damaged(sha256: &[u8]) -> Error {
    let hex = mcpkg_base::hex::encode(sha256);
    Error::new(Code::Damaged, format!("The stored content with SHA-256 {hex} is damaged"))
        .hint("`mcpkg check --deep` shows where it is used; `mcpkg restore FILE` restores a backup")
}
