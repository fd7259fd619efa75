//! Counts the failures of a plugin, and decides when to try the plugin again. The pause doubles with each failure, up
//! to about a minute. After ten failures within an hour, the pause lasts until the oldest failure is an hour old. A
//! person can try the plugin earlier with `mcpkg plugin check`. The failures are stored in the database, so all
//! processes share them.

use std::time::Duration;

use mcpkg_base::clock::Millis;

/// How long a failure counts, in milliseconds.
const HOUR: Millis = 3_600_000;

/// After this many failures within an hour, the plugin is not started again until the oldest failure is an hour old.
const MOST: usize = 10;

/// Shortest and longest pause, in milliseconds.
const FIRST: Millis = 1_000;
const LONGEST: Millis = 60_000;

/// The recent failures of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Times of the failures, oldest first.
    failures: Vec<Millis>,
    /// The reason of the last failure.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Well,
    /// The plugin failed recently. Wait for this time.
    BackingOff(Duration),
    /// The plugin failed too often. Wait for this time, or until a person checks it.
    Failed(Duration),
}

impl Standing {
    pub fn of(failures: &str, reason: Option<String>) -> Self {
        Self { failures: serde_json::from_str(failures).unwrap_or_default(), reason }
    }

    /// Returns the times as JSON for storage.
    pub fn stored(&self) -> String {
        serde_json::json!(self.failures).to_string()
    }

    #[must_use]
    pub fn failed(mut self, now: Millis, reason: &str) -> Self {
        // If the clock was set back, ignore times in the future.
        self.failures.retain(|at| (0..HOUR).contains(&(now - at)));
        self.failures.push(now);
        let extra = self.failures.len().saturating_sub(MOST);
        self.failures.drain(..extra);
        Self { reason: Some(reason.to_owned()), ..self }
    }

    /// Returns whether the plugin may be started now, or how long to wait.
    pub fn health(&self, now: Millis) -> Health {
        let recent: Vec<Millis> = self.failures.iter().copied().filter(|at| (0..HOUR).contains(&(now - at))).collect();
        let Some(last) = recent.last() else { return Health::Well };
        if recent.len() >= MOST {
            return Health::Failed(span(recent[0] + HOUR - now));
        }
        let doubled = u32::try_from(recent.len() - 1).map_or(LONGEST, |times| FIRST.saturating_mul(1 << times.min(10)));
        let pause = doubled.min(LONGEST);
        // Add up to a quarter, so that processes that saw the same failure do not all retry at once.
        let jitter = pause / 4 * (last.rem_euclid(256)) / 256;
        match span(last + pause + jitter - now) {
            Duration::ZERO => Health::Well,
            left => Health::BackingOff(left),
        }
    }
}

fn span(millis: Millis) -> Duration {
    Duration::from_millis(millis.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_minute_and_the_tenth_failure_of_an_hour_is_the_last() {
        let (mut standing, mut now) = (Standing::default(), 1_800_000_000_000);
        assert_eq!(standing.health(now), Health::Well);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            standing = standing.failed(now, "it ended");
            let Health::BackingOff(pause) = standing.health(now) else { panic!("{standing:?}") };
            pauses.push(pause);
            now += Millis::try_from(pause.as_millis()).unwrap();
            assert_eq!(standing.health(now), Health::Well);
        }
        for (pause, least) in pauses.iter().zip([1, 2, 4, 8, 16, 32, 60, 60, 60]) {
            let least = Duration::from_secs(least);
            assert!((least..=least * 5 / 4).contains(pause), "{pause:?} {least:?}");
        }
        standing = standing.failed(now, "it ended again");
        let Health::Failed(left) = standing.health(now) else { panic!("{standing:?}") };
        assert!(left < Duration::from_secs(3600) && left > Duration::from_secs(3000), "{left:?}");
        assert_eq!(standing.health(now + HOUR), Health::Well);
        // Failures in the future do not count: the clock was set back.
        assert_eq!(standing.health(now - 2 * HOUR), Health::Well);
        assert_eq!(Standing::of(&standing.stored(), standing.reason.clone()), standing);
        assert_eq!(Standing::of("no json", None).health(now), Health::Well);
    }
}
