//! Checks the name of an entry.

use mcpkg_base::error::{Code, Error, Result};

/// The default name of the entry.
pub const DEFAULT: &str = "mcpkg";

/// Checks that every agent accepts a name, and that the name leaves room for the names of tools, which agents append to it.
pub fn check(name: &str) -> Result<()> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (1..=32).contains(&name.len()) && name.bytes().all(good) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{name}' is not a valid name for an entry"))
        .hint("a name consists of 1 to 32 of the characters A-Z a-z 0-9 _ -"))
}
