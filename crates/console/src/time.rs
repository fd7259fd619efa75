//! Formats times for the screen.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use mcpkg_base::clock::Millis;

/// Formats a time in the user's time zone: `13:48` if it is today, otherwise with the date: `28 Nov 13:48`.
pub fn until(at: Millis, now: Millis) -> String {
    shown(at, now, "%H:%M")
}

/// Like [`until`], with seconds.
pub fn exact(at: Millis, now: Millis) -> String {
    shown(at, now, "%H:%M:%S")
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
