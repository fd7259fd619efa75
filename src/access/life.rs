//! For how long a key is good: `90m`, `12h`, `30d`, `2w`.

use crate::clock::{Millis, span};
use crate::error::Result;

/// Returns a span of time in milliseconds.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub(super) fn parse(text: &str) -> Result<Millis> {
    let told = |error: crate::error::Error| error.hint("leave --expires out for a key that does not expire");
    match span::parse("--expires", text).map_err(told)? {
        0 => Err(told(span::refused("--expires", text, "would have expired at once"))),
        span => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_expire_at_once() {
        assert_eq!(parse("1m").unwrap(), 60_000);
        assert_eq!(parse("0d").unwrap_err().to_string(), "--expires '0d' would have expired at once");
        assert_eq!(parse("x").unwrap_err().hints().len(), 2);
    }
}
