//! Times as a screen shows them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use mcpkg_base::clock::Millis;

/// Returns the time of day in the user's time zone, such as `13:48`; with the date if it is another day than `now`.
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
