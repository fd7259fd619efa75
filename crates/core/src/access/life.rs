//! Parses how long a key is valid: `90m`, `12h`, `30d`, `2w`.

use mcpkg_base::clock::{Millis, span};
use mcpkg_base::error::{Code, Error, Result};

/// Parses a span of time into milliseconds. Refuses zero.
pub(super) fn parse(text: &str) -> Result<Millis> {
    let why = match span::parse(text) {
        Ok(0) => "would make the key expire immediately",
        Ok(span) => return Ok(span),
        Err(why) => why,
    };
    Err(Error::new(Code::InvalidArgument, format!("--expires '{}' {why}", text.escape_debug()))
        .hint(format!("{}; leave out --expires for a key that does not expire", span::HINT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_a_unit_and_is_not_zero() {
        assert_eq!(parse("90m").ok(), Some(90 * 60_000));
        let why = |text: &str| {
            let error = parse(text).expect_err(text);
            assert_eq!((error.code(), error.hints().len()), (Code::InvalidArgument, 1));
            error.to_string()
        };
        assert_eq!(why("30"), "--expires '30' has no unit");
        assert_eq!(why("0d"), "--expires '0d' would make the key expire immediately");
        assert_eq!(why("1d\n"), "--expires '1d\\n' is not a duration");
    }
}
