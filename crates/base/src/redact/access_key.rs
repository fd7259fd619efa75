//! Defines the format of mcpkg's access keys: `mcpkg_`, an id of 12 hex digits, `_`, and the secret.

pub const KEY: &str = "mcpkg_";

/// The number of digits in the id.
pub const KEY_ID: usize = 12;
