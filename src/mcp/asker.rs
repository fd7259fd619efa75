//! Identifies the requester of a call, and limits how many calls each requester runs at once.
//!
//! Because of the limit, a busy requester delays only its own calls.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The requester of a call: the access key, the person who signed in, or the local user. Two connections with the same
/// key are the same requester.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asker(String);

impl Asker {
    /// Returns the requester with this name, in the form that the database stores, such as `key:ci`.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A limit on the calls that each requester runs at once. `K` may contain more than the requester, such as the tool.
pub(super) struct AskerLimit<K = Asker> {
    permits: usize,
    askers: Mutex<HashMap<K, Arc<Semaphore>>>,
}

impl<K: Clone + Eq + Hash> AskerLimit<K> {
    /// Creates a limit of `permits` calls at once for each requester.
    pub(super) fn new(permits: usize) -> Self {
        Self { permits, askers: Mutex::default() }
    }

    /// Waits for one of the requester's permits. Dropping the permit lets the requester's next call run.
    pub(super) async fn take(&self, asker: &K) -> Option<OwnedSemaphorePermit> {
        let permits = self.permits(asker);
        permits.acquire_owned().await.ok()
    }

    /// Returns one of the requester's permits, or `None` if the requester has reached its limit.
    pub(super) fn try_take(&self, asker: &K) -> Option<OwnedSemaphorePermit> {
        self.permits(asker).try_acquire_owned().ok()
    }

    fn permits(&self, asker: &K) -> Arc<Semaphore> {
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        // If this map holds the only reference to a semaphore, no permit is in use and nobody waits.
        askers.retain(|_, permits| Arc::strong_count(permits) > 1);
        let permits = askers.entry(asker.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.permits)));
        Arc::clone(permits)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_requester_waits_only_for_its_own_calls() {
        let [a, b, c] = ["a", "b", "c"].map(Asker::named);
        let limit = AskerLimit::new(1);
        let first = limit.take(&a).now_or_never().flatten().unwrap();
        assert!(limit.take(&a).now_or_never().is_none());
        assert!(limit.try_take(&a).is_none());
        assert!(limit.take(&b).now_or_never().is_some());
        assert!(limit.try_take(&c).is_some());
        drop(first);
        assert!(limit.take(&a).now_or_never().is_some());
        assert_eq!(limit.askers.lock().unwrap().len(), 1);
    }
}
