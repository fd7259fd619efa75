//! Parses and formats durations as users write them: `90m`, `12h`, `30d`, `2w`.

use super::Millis;

const MINUTE: Millis = 60_000;
const HOUR: Millis = 60 * MINUTE;
const DAY: Millis = 24 * HOUR;
const WEEK: Millis = 7 * DAY;

/// The units, longest first.
const UNITS: [(&str, Millis); 4] = [("w", WEEK), ("d", DAY), ("h", HOUR), ("m", MINUTE)];

/// The longest duration: a hundred years.
pub const LONGEST: Millis = 36_525 * DAY;

/// The hint for text that [`parse`] rejects.
pub const HINT: &str = "give a whole number and a unit: 90m (minutes), 12h (hours), 30d (days) or 2w (weeks)";

/// Parses a duration into milliseconds.
///
/// # Errors
/// A phrase that says what is wrong with the text: `has no unit`.
pub fn parse(text: &str) -> Result<Millis, &'static str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if digits > 0 && unit.is_empty() {
        return Err("has no unit");
    }
    let Some((_, unit)) = UNITS.iter().find(|(name, _)| digits > 0 && *name == unit) else {
        return Err("is not a duration");
    };
    match number.parse::<Millis>().ok().and_then(|number| number.checked_mul(*unit)) {
        Some(span) if span <= LONGEST => Ok(span),
        _ => Err("is longer than 100 years"),
    }
}

/// Formats a duration with the largest unit that gives a whole number. Durations below a minute become `0m`.
pub fn shown(span: Millis) -> String {
    let (name, unit) = UNITS.into_iter().find(|(_, unit)| span >= *unit && span % unit == 0).unwrap_or(("m", MINUTE));
    format!("{}{name}", span / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_number_and_a_unit() {
        for (text, span) in
            [("90m", 90 * MINUTE), ("12h", 12 * HOUR), ("30d", 30 * DAY), ("2w", 14 * DAY), ("01d", DAY), ("0d", 0)]
        {
            assert_eq!(parse(text), Ok(span), "{text}");
        }
        assert_eq!(parse("30"), Err("has no unit"));
        for bad in ["", "d", "-1d", "+1d", "1.5d", "30 d", "30days", "1y", "1M", "1d\n", "٣d", "tomorrow"] {
            assert_eq!(parse(bad), Err("is not a duration"), "{bad}");
        }
        for long in ["36526d", "99999999999999999999d", "9223372036854775807w"] {
            assert_eq!(parse(long), Err("is longer than 100 years"), "{long}");
        }
    }

    #[test]
    fn a_span_is_shown_as_it_is_read() {
        for text in ["90m", "36h", "1d", "2w", "30d", "0m"] {
            assert_eq!(parse(text).map(shown).as_deref(), Ok(text));
        }
        assert_eq!(shown(7 * DAY), "1w");
        assert_eq!(shown(LONGEST), "36525d");
    }
}
