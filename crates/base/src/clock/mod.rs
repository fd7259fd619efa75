//! Provides time, ids and randomness. Code that takes the time from a [`Clock`] can be tested at a fixed time.

pub mod since;
pub mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use crate::error::{Error, Result};

pub type Millis = i64;

/// A source of time and ids. It is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    fixed: Option<Arc<AtomicI64>>,
}

impl Clock {
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a clock that stays at `now` until [`Clock::advance`] moves it.
    pub fn fixed(now: Millis) -> Self {
        Self { fixed: Some(Arc::new(AtomicI64::new(now))) }
    }

    /// Moves a fixed clock by `by` milliseconds, which may be negative. Does nothing to the system's clock.
    pub fn advance(&self, by: Millis) {
        if let Some(fixed) = &self.fixed {
            fixed.fetch_add(by, Ordering::Relaxed);
        }
    }

    pub fn now(&self) -> Millis {
        match &self.fixed {
            Some(fixed) => fixed.load(Ordering::Relaxed),
            None => system_now(),
        }
    }

    /// Returns a new version 7 UUID. UUIDs of this version sort by time.
    pub fn uuid(&self) -> Uuid {
        match &self.fixed {
            Some(_) => {
                let millis = u64::try_from(self.now()).unwrap_or(0);
                uuid_at(millis)
            }
            None => unique(),
        }
    }
}

impl Clock {
    /// Returns 32 unpredictable random bytes from the system.
    pub fn secret(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Fills a buffer with unpredictable random bytes from the system.
    pub fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        getrandom::fill(bytes)
            .map_err(|error| Error::internal("the system returned no random bytes").with_source(error.to_string()))
    }
}

/// The times that can be formatted: the years -9999 to 9999, except for about one day at each end.
const WRITABLE: std::ops::RangeInclusive<Millis> = -377_705_023_201_000..=253_402_207_199_999;

/// Returns the system's time. If its clock is outside the range that can be formatted, returns the closest time in the
/// range.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the system")]
fn system_now() -> Millis {
    let millis = |span: Duration| Millis::try_from(span.as_millis()).unwrap_or(Millis::MAX);
    let now = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(error) => -millis(error.duration()),
    };
    now.clamp(*WRITABLE.start(), *WRITABLE.end())
}

/// Whether HTTP dates can express the system's time. If not, a server sends no date.
pub fn has_http_date() -> bool {
    (0..*WRITABLE.end()).contains(&system_now())
}

/// Returns a new version 7 UUID. Works even if the clock is set to a time before 1970, which that version cannot
/// express.
pub fn unique() -> Uuid {
    if system_now() >= 0 { Uuid::now_v7() } else { uuid_at(0) }
}

/// Returns a new id of 12 random hex digits, for people to copy.
pub fn short_id() -> String {
    let mut bytes = [0; 6];
    // Without randomness, all ids are equal. That does little harm, because they only group rows of the audit trail
    // (`events`).
    let _ = getrandom::fill(&mut bytes);
    crate::hex::encode(&bytes)
}

fn uuid_at(millis: u64) -> Uuid {
    let mut tail = [0; 10];
    // Without randomness, ids from the same millisecond are equal, and storing the second one fails.
    let _ = getrandom::fill(&mut tail);
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}

/// Formats `millis` as RFC 3339 in UTC, in whole seconds: `2026-11-21T10:00:00Z`. A time out of range is formatted as
/// its number.
pub fn rfc3339(millis: Millis) -> String {
    jiff::Timestamp::from_second(millis.div_euclid(1000))
        .map(|time| time.to_string())
        .unwrap_or_else(|_| millis.to_string())
}

/// Like [`rfc3339`], with milliseconds: `2026-11-21T10:00:00.000Z`.
pub fn rfc3339_millis(millis: Millis) -> String {
    jiff::Timestamp::from_millisecond(millis).map(|time| format!("{time:.3}")).unwrap_or_else(|_| millis.to_string())
}

/// Parses an RFC 3339 time; `None` for any other text.
pub fn from_rfc3339(text: &str) -> Option<Millis> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Serializes a time in the format of [`rfc3339`].
pub fn as_rfc3339<S: serde::Serializer>(millis: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_stands_until_it_is_moved() {
        let clock = Clock::fixed(1_000);
        assert_eq!(clock.now(), 1_000);
        clock.advance(-400);
        assert_eq!(clock.now(), 600);
    }

    #[test]
    fn ids_are_version_7_and_differ() {
        for clock in [Clock::system(), Clock::fixed(1_700_000_000_000)] {
            let (a, b) = (clock.uuid(), clock.uuid());
            assert_eq!(a.get_version_num(), 7);
            assert_ne!(a, b);
        }
    }

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59Z");
        assert_eq!(rfc3339(*WRITABLE.start()), "-009999-01-02T01:59:59Z");
        assert_eq!(rfc3339(*WRITABLE.end()), "9999-12-30T21:59:59Z");
        assert_eq!(from_rfc3339("2026-11-21T12:00:00+02:00").map(rfc3339).as_deref(), Some("2026-11-21T10:00:00Z"));
        assert_eq!((from_rfc3339("yesterday"), from_rfc3339("")), (None, None));
        // No clock returns these values, but a damaged row may contain them.
        for odd in [Millis::MIN, Millis::MAX] {
            assert_eq!(rfc3339(odd), odd.to_string());
        }
    }

    #[test]
    fn ids_are_made_at_any_time_of_the_clock() {
        for now in [-1, Millis::MIN, Millis::MAX, *WRITABLE.end()] {
            assert_eq!(Clock::fixed(now).uuid().get_version_num(), 7, "{now}");
        }
    }
}
