//! Parses durations and sizes with units, such as `90s` and `512Mi`.

use std::time::Duration;

use mcpkg_base::clock::span::{Fault, Notation};

/// The units of time in nanoseconds; both Unicode characters for µ are accepted.
const TIMES: Notation = Notation {
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", HOUR),
    ],
    is_compound: true,
};

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// Bytes per unit.
const SIZES: [(&str, u64); 14] = [
    ("", 1),
    ("B", 1),
    ("K", 1_000),
    ("KB", 1_000),
    ("Ki", 1 << 10),
    ("KiB", 1 << 10),
    ("M", 1_000_000),
    ("MB", 1_000_000),
    ("Mi", 1 << 20),
    ("MiB", 1 << 20),
    ("G", 1_000_000_000),
    ("GB", 1_000_000_000),
    ("Gi", 1 << 30),
    ("GiB", 1 << 30),
];

/// Parses a duration such as `90s`, `1.5h` or `1h30m`.
pub fn time(text: &str) -> Result<Duration, String> {
    let nanos = TIMES.read(text.trim()).map_err(|fault| match fault {
        Fault::Empty => "it is empty".to_owned(),
        Fault::NoNumber(text) => format!("'{}' does not start with a number", text.escape_debug()),
        Fault::Unit("") => "it has no unit; use a duration such as 30s, 5m or 1h".to_owned(),
        Fault::Unit(unit) => format!("'{}' is not a unit of time; use ns, us, ms, s, m or h", unit.escape_debug()),
        Fault::TooLong => TOO_LONG.to_owned(),
    })?;
    // 100 years is far beyond the timeout of any run.
    match u64::try_from(nanos / 1_000_000_000) {
        _ if nanos == 0 => Err("it is too short".to_owned()),
        Ok(seconds) if seconds <= 3_600 * 24 * 36_525 => {
            Ok(Duration::from_secs(seconds) + Duration::from_nanos((nanos % 1_000_000_000) as u64))
        }
        _ => Err(TOO_LONG.to_owned()),
    }
}

const TOO_LONG: &str = "it is longer than 100 years";

/// Parses a size in bytes such as `512Mi` or `2GB`.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = number(text.trim())?;
    let Some((_, worth)) = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim())) else {
        return Err(format!("'{}' is not a unit of size; use K, M, G, Ki, Mi or Gi", unit.escape_debug()));
    };
    #[expect(clippy::cast_precision_loss, reason = "a unit is a small whole number")]
    let bytes = number * *worth as f64;
    if !(1.0..=1e15).contains(&bytes) {
        return Err("it must be between 1 byte and 1e15 bytes".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 1 and 1e15")]
    Ok(bytes as u64)
}

/// Splits off the number at the start of a text.
fn number(text: &str) -> Result<(f64, &str), String> {
    let length = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(length);
    match digits.parse::<f64>() {
        Ok(number) if digits.len() <= 20 && !digits.starts_with('.') => Ok((number, rest)),
        _ => Err(format!("'{}' does not start with a number", text.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x27_every_unit_of_time_is_read_or_refused() {
        for (text, nanos) in [
            ("1500ns", 1_500),
            ("2us", 2_000),
            ("2\u{b5}s", 2_000),
            ("2\u{3bc}s", 2_000),
            ("250ms", 250_000_000),
            ("30s", 30_000_000_000),
            ("5m", 300_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1h30m", 5_400_000_000_000),
        ] {
            assert_eq!(time(text).unwrap().as_nanos(), nanos, "{text}");
        }
        for bad in ["", "5", "m", "5 minutes", "5min", "5d", "-5s", "0s", "1e3s", "999999999h", "5m ", "1..5s"] {
            let bad_only = bad.trim() == bad;
            assert!(time(bad).is_err() == bad_only, "{bad}");
        }
    }

    #[test]
    fn sizes_are_decimal_or_binary() {
        for (text, bytes) in
            [("512Mi", 512 << 20), ("2GB", 2_000_000_000), ("2Gi", 2 << 30), ("1.5k", 1_500), ("1024", 1024)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "Mi", "0", "-1Mi", "1Ti", "5 apples", "99999999999Gi"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
