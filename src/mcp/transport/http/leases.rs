//! The streams that are open, by the key they were opened with: they end when the key does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::access::Grant;

/// Who has streams open.
#[derive(Default)]
pub(super) struct Leases(Mutex<Vec<Lease>>);

struct Lease {
    grant: Option<Grant>,
    streams: usize,
    over: CancellationToken,
}

/// Counts a stream as long as it is open.
pub(super) struct Held {
    leases: Arc<Leases>,
    over: CancellationToken,
    grant: Option<Grant>,
}

impl Leases {
    /// Notes a stream that was opened with a key, or without one.
    pub(super) fn hold(self: &Arc<Self>, grant: Option<&Grant>) -> Held {
        let mut leases = self.lock();
        let at = leases.iter().position(|lease| lease.grant.as_ref() == grant).unwrap_or_else(|| {
            leases.push(Lease { grant: grant.cloned(), streams: 0, over: CancellationToken::new() });
            leases.len() - 1
        });
        leases[at].streams += 1;
        Held { leases: Arc::clone(self), over: leases[at].over.clone(), grant: grant.cloned() }
    }

    /// Ends the streams of those who would not be let in any more.
    pub(super) fn check(&self, holds: impl Fn(Option<&Grant>) -> bool) {
        self.lock().retain(|lease| {
            let good = holds(lease.grant.as_ref());
            if !good {
                lease.over.cancel();
            }
            good
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Returns what is cancelled when the key is no longer good.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut leases = self.leases.lock();
        if let Some(at) = leases.iter().position(|lease| lease.grant == self.grant && !self.over.is_cancelled()) {
            leases[at].streams -= 1;
            if leases[at].streams == 0 {
                leases.swap_remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(key: &str) -> Grant {
        Grant { key: key.to_owned(), project: None, project_name: None, read_only: false }
    }

    #[test]
    fn a_key_that_ends_ends_its_streams_and_no_others() {
        let leases = Arc::new(Leases::default());
        let (one, other, again, open) = (
            leases.hold(Some(&grant("a"))),
            leases.hold(Some(&grant("b"))),
            leases.hold(Some(&grant("a"))),
            leases.hold(None),
        );
        leases.check(|held| held.is_none_or(|held| held.key != "a"));
        let ended = [&one, &again, &other, &open].map(|held| held.over().is_cancelled());
        assert_eq!(ended, [true, true, false, false]);
        // Made anew under the same name, it is another one's.
        let new = leases.hold(Some(&grant("a")));
        drop((one, again));
        assert_eq!(leases.lock().len(), 3);
        drop((new, other, open));
        assert_eq!(leases.lock().len(), 0);
    }
}
