//! Limits how many HTTP requests outside MCP are worked on at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;

use super::access_control::Client;

/// Requests that are worked on at once; others wait.
const WORKED_ON: usize = 8;

/// Large bodies that are worked on at once. Each may be in memory once.
const UPLOADS: usize = 2;

/// Large bodies that one client may send at once. Each may take as long as its client likes, and up to its whole size on the disk.
/// Every client has places of its own, so that a slow one holds up nobody else.
const UPLOADS_OF_CLIENT: usize = 2;

/// How much is worked on at once.
pub(super) struct Permits {
    /// Answers that are made.
    pub(super) work: Arc<Semaphore>,
    /// Large bodies that have arrived and are worked on.
    pub(super) uploads: Arc<Semaphore>,
    /// Large bodies that are being received.
    pub(super) places: Places,
}

impl Default for Permits {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { work: semaphore(WORKED_ON), uploads: semaphore(UPLOADS), places: Places::new(UPLOADS_OF_CLIENT) }
    }
}

/// Places for uploads: each client has the same number of its own.
pub(super) struct Places {
    each: usize,
    /// The places of clients that use one or wait for one.
    taken: Mutex<HashMap<Client, Weak<Semaphore>>>,
}

impl Places {
    fn new(each: usize) -> Self {
        Self { each, taken: Mutex::default() }
    }

    /// Returns the places of a client.
    pub(super) fn of(&self, client: Client) -> Arc<Semaphore> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = taken.get(&client).and_then(Weak::upgrade) {
            return places;
        }
        taken.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(self.each));
        taken.insert(client, Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_places_of_its_own_and_none_is_remembered_that_has_none_taken() {
        let places = Places::new(1);
        let client = |name: &str| places.of(Client::Key(name.to_owned()));
        let first = client("one").try_acquire_owned().expect("a place");
        assert!(client("one").try_acquire_owned().is_err());
        let other = client("other").try_acquire_owned().expect("a place");
        drop(first);
        assert!(client("one").try_acquire_owned().is_ok());
        drop(other);
        client("third");
        assert_eq!(places.taken.lock().expect("a lock").len(), 1);
    }
}
