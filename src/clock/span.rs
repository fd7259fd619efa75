//! Spans of time as people write them: `90m`, `12h`, `30d`, `2w`.

use super::Millis;
use crate::error::{Code, Error, Result};

const MINUTE: Millis = 60_000;
const HOUR: Millis = 60 * MINUTE;
const DAY: Millis = 24 * HOUR;
const WEEK: Millis = 7 * DAY;

/// The longest span: a hundred years.
const LONGEST: Millis = 36_525 * DAY;

/// Returns a span of time in milliseconds; `flag` is what it was given with.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub fn parse(flag: &str, text: &str) -> Result<Millis> {
    let refuse = |why: &str| Err(refused(flag, text, why));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        "w" => WEEK,
        "" if digits > 0 => return refuse("has no unit"),
        _ => return refuse("is no span of time"),
    };
    if digits == 0 {
        return refuse("is no span of time");
    }
    match number.parse::<Millis>().ok().and_then(|number| number.checked_mul(unit)) {
        Some(span) if span <= LONGEST => Ok(span),
        _ => refuse("is longer than a hundred years"),
    }
}

/// Returns the failure of a span that cannot be taken.
pub fn refused(flag: &str, text: &str, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{flag} '{}' {why}", text.escape_debug()))
        .hint("say a whole number and a unit: 90m (minutes), 12h (hours), 30d (days) or 2w (weeks)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_number_and_a_unit() {
        for (text, span) in
            [("90m", 90 * MINUTE), ("12h", 12 * HOUR), ("30d", 30 * DAY), ("2w", 14 * DAY), ("01d", DAY), ("0m", 0)]
        {
            assert_eq!(parse("--expires", text).unwrap(), span, "{text}");
        }
        let why = |text: &str| {
            let error = parse("--expires", text).expect_err(text);
            assert_eq!((error.code(), error.hints().len()), (Code::InvalidArgument, 1));
            error.to_string()
        };
        assert_eq!(why("30"), "--expires '30' has no unit");
        for bad in ["", "d", "-1d", "+1d", "1.5d", "30 d", "30days", "1y", "1M", "1d\n", "٣d", "tomorrow"] {
            assert!(why(bad).ends_with("is no span of time"), "{bad}");
        }
        for long in ["36526d", "99999999999999999999d", "9223372036854775807w"] {
            assert!(why(long).ends_with("is longer than a hundred years"), "{long}");
        }
    }
}
