//! Parses the start of a period as users write it: `2026-11-28T12:48:20Z`, `14:02` or `2h`.

use super::{Millis, from_rfc3339, span};

/// The hint for text that [`parse`] rejects.
pub const HINT: &str =
    "give a time of today in UTC such as 14:02, a duration such as 90m or 2h, or a time such as 2026-11-28T12:48:20Z";

/// Returns the time that `text` means at `now`. A time of day means today, in UTC like all times that mcpkg prints.
///
/// # Errors
/// A phrase that says what is wrong with the text: `is not a time`.
pub fn parse(text: &str, now: Millis) -> Result<Millis, &'static str> {
    let since = if let Ok(span) = span::parse(text) {
        now.saturating_sub(span)
    } else if let Some(time) = from_rfc3339(text) {
        time
    } else {
        of_today(text, now).ok_or("is not a time")?
    };
    if since > now { Err("is in the future") } else { Ok(since) }
}

fn of_today(text: &str, now: Millis) -> Option<Millis> {
    let time: jiff::civil::Time = text.parse().ok().filter(|_| text.contains(':'))?;
    let utc = jiff::tz::TimeZone::UTC;
    let today = jiff::Timestamp::from_millisecond(now).ok()?.to_zoned(utc.clone()).date();
    Some(today.to_datetime(time).to_zoned(utc).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_time_or_a_duration_before_now() {
        let now = from_rfc3339("2026-11-28T23:59:59Z").unwrap();
        assert_eq!(parse("2h", now), Ok(now - 7_200_000));
        assert_eq!(parse("2026-11-28T12:48:20Z", now), Ok(from_rfc3339("2026-11-28T12:48:20Z").unwrap()));
        assert_eq!(parse("14:02", now), Ok(from_rfc3339("2026-11-28T14:02:00Z").unwrap()));
        assert_eq!(parse("00:00:30", now), Ok(from_rfc3339("2026-11-28T00:00:30Z").unwrap()));
        for bad in ["", "noon", "25:00", "12", "2h30"] {
            assert_eq!(parse(bad, now), Err("is not a time"), "{bad}");
        }
        assert_eq!(parse("2027-01-01T00:00:00Z", now), Err("is in the future"));
    }
}
