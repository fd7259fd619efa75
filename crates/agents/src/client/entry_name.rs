//! The name of an entry.

use mcpkg_base::error::{Code, Error, Result};

/// The name of the entry unless told otherwise.
pub const DEFAULT: &str = "mcpkg";

/// Checks that every agent takes a name, and that it leaves room for the tools' own.
pub fn check(name: &str) -> Result<()> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (1..=32).contains(&name.len()) && name.bytes().all(good) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{name}' is not a valid name for an entry"))
        .hint("a name consists of 1 to 32 of the characters A-Z a-z 0-9 _ -"))
}
