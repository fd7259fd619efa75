//! Signals that a live resource may have changed, and combines a burst of signals into one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the bell must be silent before the resources are read, because most changes ring several times.
const QUIET: Duration = Duration::from_millis(200);

/// The maximum length of a burst. After that, the resources are read even if the bell still rings.
const LONGEST: Duration = Duration::from_secs(1);

/// Keeps the watching thread running until the last copy is dropped.
pub(super) struct Watched(pub(super) Arc<Bell>);

/// The signal that the watching thread waits for.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<Rung>,
    changed: Condvar,
}

#[derive(Default)]
struct Rung {
    /// The times at which the bell first and last rang since `wait` last returned.
    since: Option<(Instant, Instant)>,
    /// The number of times that the bell rang.
    count: u64,
    over: bool,
}

/// The reason for reading the resources again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    Rung,
    /// It is time to poll the resources whose changes do not ring the bell.
    Due,
    /// Nobody is subscribed any more.
    Over,
}

impl Bell {
    /// Signals that something may have changed.
    pub(super) fn ring(&self) {
        let now = Instant::now();
        let mut state = self.state();
        state.since = Some((state.since.map_or(now, |(first, _)| first), now));
        state.count += 1;
        self.changed.notify_all();
    }

    fn count(&self) -> u64 {
        self.state().count
    }

    /// Waits until a burst of rings is over, or until `due` if the bell does not ring.
    pub(super) fn wait(&self, due: Instant) -> Woken {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let (until, woken) = match state.since {
                _ if state.over => return Woken::Over,
                Some((first, last)) => ((last + QUIET).min(first + LONGEST), Woken::Rung),
                None => (due, Woken::Due),
            };
            let left = until.saturating_duration_since(now);
            if left.is_zero() {
                state.since = None;
                return woken;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, Rung> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.state().over = true;
        self.0.changed.notify_all();
    }
}

/// Detects rings while a subscription is being set up, so that they are not missed.
pub(super) struct Missed {
    bell: Arc<Bell>,
    before: u64,
}

impl Missed {
    pub(super) fn after(bell: &Arc<Bell>) -> Self {
        Self { bell: Arc::clone(bell), before: bell.count() }
    }

    /// Rings again if the bell rang since this value was created.
    pub(super) fn ring(self) {
        if self.bell.count() != self.before {
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_rings_is_answered_once_when_it_is_over() {
        let bell = Arc::<Bell>::default();
        let far = Instant::now() + Duration::from_secs(60);
        let began = Instant::now();
        let ringing = {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || {
                for _ in 0..5 {
                    bell.ring();
                    std::thread::sleep(Duration::from_millis(20));
                }
            })
        };
        ringing.join().unwrap();
        assert_eq!(bell.wait(far), Woken::Rung);
        assert!(began.elapsed() >= QUIET);
        assert_eq!(bell.wait(Instant::now() + Duration::from_millis(10)), Woken::Due, "answered once");
    }

    #[test]
    fn the_watch_ends_when_its_last_handle_is_dropped() {
        let bell = Arc::<Bell>::default();
        let watched = Watched(Arc::clone(&bell));
        drop(watched);
        assert_eq!(bell.wait(Instant::now() + Duration::from_secs(60)), Woken::Over);
    }

    #[test]
    fn a_ring_while_a_subscription_is_set_up_is_repeated() {
        let bell = Arc::<Bell>::default();
        let missed = Missed::after(&bell);
        missed.ring();
        assert_eq!(bell.count(), 0);
        let missed = Missed::after(&bell);
        bell.ring();
        missed.ring();
        assert_eq!(bell.count(), 2);
    }
}
