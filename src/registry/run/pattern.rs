//! Which tools a variable is set for.

use crate::error::{Code, Error, Result};

/// Bytes of the longest pattern.
const LONGEST: usize = 255;

/// Returns whether a pattern names a tool: `*` stands for any characters, also none, and `/` is one of them. All else stands
/// for itself.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where the last `*` was, and how much of the name it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == name.get(n) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Fails where a text is no pattern over names of tools.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub fn check(pattern: &str) -> Result<()> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-/@*".contains(&byte);
    match !pattern.is_empty() && pattern.len() <= LONGEST && pattern.bytes().all(is_part) {
        true => Ok(()),
        false => Err(Error::new(Code::InvalidArgument, format!("'{}' names no tools", pattern.escape_debug()))
            .hint("a pattern is a tool's name in which `*` stands for any characters, such as 'alice/*'")),
    }
}
