//! What an access key of mcpkg looks like: `mcpkg_`, its id of 12 hex digits, `_`, and its secret.

pub const KEY: &str = "mcpkg_";

/// The digits of the id.
pub const KEY_ID: usize = 12;
