//! For how long a key is good: `90m`, `12h`, `30d`, `2w`.

use crate::clock::Millis;
use crate::error::{Code, Error, Result};

const MINUTE: Millis = 60_000;
const HOUR: Millis = 60 * MINUTE;
const DAY: Millis = 24 * HOUR;
const WEEK: Millis = 7 * DAY;

/// The longest life: a hundred years.
const LONGEST: Millis = 36_525 * DAY;

/// Returns a span of time in milliseconds.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub(super) fn parse(text: &str) -> Result<Millis> {
    let refuse = |why: &str| {
        Err(Error::new(Code::InvalidArgument, format!("--expires '{}' {why}", text.escape_debug())).hint(
            "say a whole number and a unit: 90m (minutes), 12h (hours), 30d (days) or 2w (weeks); \
             leave --expires out for a key that does not expire",
        ))
    };
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
        Some(0) => refuse("would have expired at once"),
        Some(span) if span <= LONGEST => Ok(span),
        _ => refuse("is longer than a hundred years"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_number_and_a_unit() {
        for (text, span) in
            [("90m", 90 * MINUTE), ("12h", 12 * HOUR), ("30d", 30 * DAY), ("2w", 14 * DAY), ("01d", DAY)]
        {
            assert_eq!(parse(text).unwrap(), span, "{text}");
        }
        let why = |text: &str| {
            let error = parse(text).expect_err(text);
            assert_eq!((error.code(), error.hints().len()), (Code::InvalidArgument, 1));
            error.to_string()
        };
        assert_eq!(why("30"), "--expires '30' has no unit");
        assert_eq!(why("0d"), "--expires '0d' would have expired at once");
        for bad in ["", "d", "-1d", "+1d", "1.5d", "30 d", "30days", "1y", "1M", "1d\n", "٣d", "tomorrow"] {
            assert!(why(bad).ends_with("is no span of time"), "{bad}");
        }
        for long in ["36526d", "99999999999999999999d", "9223372036854775807w"] {
            assert!(why(long).ends_with("is longer than a hundred years"), "{long}");
        }
    }
}
