//! One costly read at a time for each asker: an asker's second one waits for its first, and other askers are not held up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The askers that read or wait, by the name of their access key; without a key it is this user on this machine.
#[derive(Default)]
pub(super) struct OneAtATime(Mutex<HashMap<Option<String>, Arc<Semaphore>>>);

impl OneAtATime {
    /// Waits until no other costly read of this asker runs; the next one may when the permit is dropped.
    pub(super) async fn take(&self, asker: Option<&str>) -> Option<OwnedSemaphorePermit> {
        let seat = {
            let mut askers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // A seat that nobody else holds is one that nobody sits on or waits for.
            askers.retain(|_, seat| Arc::strong_count(seat) > 1);
            let seat = askers.entry(asker.map(str::to_owned)).or_insert_with(|| Arc::new(Semaphore::new(1)));
            Arc::clone(seat)
        };
        seat.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn an_asker_waits_for_itself_alone() {
        let seats = OneAtATime::default();
        let first = seats.take(Some("a")).now_or_never().flatten().unwrap();
        assert!(seats.take(Some("a")).now_or_never().is_none());
        assert!(seats.take(Some("b")).now_or_never().is_some());
        assert!(seats.take(None).now_or_never().is_some());
        drop(first);
        assert!(seats.take(Some("a")).now_or_never().is_some());
        assert_eq!(seats.0.lock().unwrap().len(), 1);
    }
}
