//! Reads durations in every notation that mcpkg takes, and formats those that users write: `90m`, `12h`, `30d`, `2w`.

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

/// A notation for durations.
pub struct Notation {
    /// The units, each with its length. If a unit's name is empty, numbers need no unit.
    pub units: &'static [(&'static str, Millis)],
    /// Whether a duration may have fractions and several parts, as in `1.5h` and `1h30m`.
    pub is_compound: bool,
}

/// The reason why a text is not a duration, with the part that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault<'t> {
    Empty,
    NoNumber(&'t str),
    Unit(&'t str),
    TooLong,
}

impl Notation {
    /// Reads a duration in this notation. The result is in whatever unit the lengths in `units` are: milliseconds in
    /// [`parse`].
    pub fn read<'t>(&self, text: &'t str) -> Result<u128, Fault<'t>> {
        let (mut sum, mut rest) = (0_u128, text);
        if text.is_empty() {
            return Err(Fault::Empty);
        }
        while !rest.is_empty() {
            let is_number = |c: char| c.is_ascii_digit() || self.is_compound && c == '.';
            let (number, after) = rest.split_at(rest.find(|c| !is_number(c)).unwrap_or(rest.len()));
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            if whole.is_empty() || fraction.contains('.') {
                return Err(Fault::NoNumber(rest));
            }
            let end = if self.is_compound { after.find(is_number).unwrap_or(after.len()) } else { after.len() };
            let (unit, after) = after.split_at(end);
            let (_, length) = self.units.iter().find(|(name, _)| *name == unit).ok_or(Fault::Unit(unit))?;
            let length = u128::try_from(*length).unwrap_or_default();
            let whole = whole.parse::<u128>().ok().and_then(|whole| whole.checked_mul(length));
            // Further digits of a fraction make no difference.
            let fraction = &fraction[..fraction.len().min(19)];
            let part = fraction.parse().unwrap_or(0_u128) * length / 10_u128.pow(fraction.len() as u32);
            let part = whole.and_then(|whole| whole.checked_add(part));
            sum = part.and_then(|part| sum.checked_add(part)).ok_or(Fault::TooLong)?;
            rest = after;
        }
        Ok(sum)
    }
}

/// Parses a duration into milliseconds.
///
/// # Errors
/// A phrase that says what is wrong with the text: `has no unit`.
pub fn parse(text: &str) -> Result<Millis, &'static str> {
    const NOTATION: Notation = Notation { units: &UNITS, is_compound: false };
    match NOTATION.read(text).map(Millis::try_from) {
        Ok(Ok(span)) if span <= LONGEST => Ok(span),
        Ok(_) | Err(Fault::TooLong) => Err("is longer than 100 years"),
        Err(Fault::Unit("")) => Err("has no unit"),
        Err(Fault::Empty | Fault::NoNumber(_) | Fault::Unit(_)) => Err("is not a duration"),
    }
}

/// Formats a duration with the largest unit that gives a whole number. Parts of a minute are dropped.
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
    fn a_span_is_shown_as_it_was_written() {
        for text in ["90m", "36h", "1d", "2w", "30d", "0m"] {
            assert_eq!(parse(text).map(shown).as_deref(), Ok(text));
        }
        assert_eq!(shown(7 * DAY), "1w");
        assert_eq!(shown(LONGEST), "36525d");
    }
}
