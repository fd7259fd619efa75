//! Limits how many HTTP requests outside MCP are processed at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Semaphore;

use super::access_control::Client;

/// How many requests are processed at once; others wait.
const WORKED_ON: usize = 8;

/// How many large bodies are processed at once. Each may be completely in memory.
const UPLOADS: usize = 2;

/// How many large bodies one client may send at once. Each may take its full time limit, and its full size on disk.
/// Every client has its own slots, so a slow client does not delay others.
const UPLOADS_OF_CLIENT: usize = 2;

/// The limits on concurrent requests.
pub(super) struct Permits {
    /// Permits for requests.
    pub(super) work: Arc<Semaphore>,
    /// Permits to process large bodies that have arrived.
    pub(super) uploads: Arc<Semaphore>,
    /// Slots for large bodies that are being received.
    pub(super) places: Places,
}

impl Default for Permits {
    fn default() -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { work: semaphore(WORKED_ON), uploads: semaphore(UPLOADS), places: Places::new(UPLOADS_OF_CLIENT) }
    }
}

/// The upload slots of all clients, the same number for each.
pub(super) struct Places {
    each: usize,
    /// The slots of clients that use one or wait for one.
    taken: Mutex<HashMap<Client, Weak<Semaphore>>>,
}

impl Places {
    fn new(each: usize) -> Self {
        Self { each, taken: Mutex::default() }
    }

    /// Returns the slots of a client.
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
    fn each_client_has_its_own_slots_and_clients_that_use_none_are_forgotten() {
        let places = Places::new(1);
        let client = |name: &str| places.of(Client::Holder(name.to_owned()));
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
