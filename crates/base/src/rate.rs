//! Limits how often something may happen for each key.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A token bucket for each key. A bucket holds at most `burst` tokens, and regains `per_second` of them each second.
pub struct Buckets<K> {
    /// The time in which a bucket regains one token.
    interval: Duration,
    /// The time in which an empty bucket becomes full.
    whole: Duration,
    /// When each bucket is full again. A full bucket has no entry, or one in the past.
    full_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> Buckets<K> {
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        let interval = Duration::from_secs(1) / per_second.get();
        Self { interval, whole: interval * burst.get(), full_at: Mutex::default() }
    }

    /// Takes a token from the bucket of a key.
    ///
    /// # Errors
    /// If the bucket is empty, the time until it has a token.
    pub fn take(&self, key: K) -> Result<(), Duration> {
        self.take_at(key, Instant::now())
    }

    fn take_at(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let full_at = all.entry(key).or_insert(now);
        let after = (*full_at).max(now) + self.interval;
        match after.duration_since(now).checked_sub(self.whole) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                *full_at = after;
                Ok(())
            }
        }
    }

    /// Forgets the keys whose buckets are full.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, full_at| *full_at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_a_burst_and_fills_up_again() {
        let number = |number| NonZeroU32::new(number).expect("not zero");
        let buckets = Buckets::new(number(10), number(3));
        let start = Instant::now();
        let take = |key, millis| buckets.take_at(key, start + Duration::from_millis(millis));
        assert_eq!([take("a", 0), take("a", 0), take("a", 0)], [Ok(()); 3]);
        assert_eq!(take("a", 0), Err(Duration::from_millis(100)));
        assert_eq!(take("a", 60), Err(Duration::from_millis(40)));
        assert_eq!(take("b", 0), Ok(()), "each key has a bucket of its own");
        assert_eq!((take("a", 100), take("a", 100)), (Ok(()), Err(Duration::from_millis(100))));
        assert_eq!([take("a", 9_000), take("a", 9_000), take("a", 9_000)], [Ok(()); 3]);
        assert!(take("a", 9_000).is_err(), "a bucket holds no more than the burst");
    }
}
