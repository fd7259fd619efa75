//! Formats times for the screen.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use mcpkg_base::clock::{Millis, from_rfc3339};

/// Formats a time in the user's time zone: `13:48` if it is today, otherwise with the date: `28 Nov 13:48`.
pub fn until(at: Millis, now: Millis) -> String {
    shown(at, now, "%H:%M")
}

/// Like [`until`], with seconds.
pub fn exact(at: Millis, now: Millis) -> String {
    shown(at, now, "%H:%M:%S")
}

/// Formats a cell that is a time as operations report it, such as `2026-11-28T12:48:09Z`. Returns `None` for other cells.
pub fn local(cell: &str, now: Millis) -> Option<String> {
    from_rfc3339(cell).map(|at| exact(at, now))
}

fn shown(at: Millis, now: Millis, format: &str) -> String {
    let (Ok(at), Ok(now)) = (Timestamp::from_millisecond(at), Timestamp::from_millisecond(now)) else {
        return String::new();
    };
    let (at, now) = (at.to_zoned(TimeZone::system()), now.to_zoned(TimeZone::system()));
    match at.date() == now.date() {
        true => at.strftime(format).to_string(),
        false => at.strftime(&format!("%d %b {format}")).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_time_of_an_operation_is_made_local() {
        let at = from_rfc3339("2026-11-28T12:48:09Z").expect("a time");
        assert_eq!(local("2026-11-28T12:48:09Z", at), Some(exact(at, at)));
        assert_eq!(local("2026-11-28T12:48:09.250Z", at), Some(exact(at, at)));
        assert_eq!((local("since 2026-11-28T12:48:09Z", at), local("30d", at)), (None, None));
    }
}
