//! Ends open streams when their access key or token is no longer valid.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use mcpkg_core::access::Grant;
use mcpkg_store::Version;

/// Checks whether a request with this key, or without one, would be admitted now. The version is the database's at the
/// last successful check.
pub(super) type Holds = dyn Fn(Option<&Grant>, &Mutex<Option<Version>>) -> bool + Send + Sync;

/// The keys with open streams.
pub(super) struct StreamRevocation {
    holds: Box<Holds>,
    keys: Mutex<Vec<Arc<Key>>>,
}

struct Key {
    grant: Option<Grant>,
    seen: Mutex<Option<Version>>,
    revoked: CancellationToken,
}

/// The registration of one open stream, which ends when this value is dropped.
pub(super) struct OpenStream {
    revocation: Arc<StreamRevocation>,
    key: Arc<Key>,
}

impl StreamRevocation {
    pub(super) fn new(holds: Box<Holds>) -> Arc<Self> {
        Arc::new(Self { holds, keys: Mutex::default() })
    }

    /// Registers a stream that was opened with a key, or without one.
    pub(super) fn open(self: &Arc<Self>, grant: Option<&Grant>) -> OpenStream {
        let mut keys = self.keys();
        let found = keys.iter().find(|key| key.grant.as_ref() == grant && !key.revoked.is_cancelled()).cloned();
        let key = found.unwrap_or_else(|| {
            let (grant, seen) = (grant.cloned(), Mutex::new(None));
            let key = Arc::new(Key { grant, seen, revoked: CancellationToken::new() });
            keys.push(Arc::clone(&key));
            key
        });
        OpenStream { revocation: Arc::clone(self), key }
    }

    /// Ends the streams of keys that are no longer valid.
    pub(super) fn check(&self) {
        let keys = self.keys().clone();
        for key in &keys {
            self.holds(key);
        }
        self.keys().retain(|key| !key.revoked.is_cancelled());
    }

    fn holds(&self, key: &Key) -> bool {
        let holds = !key.revoked.is_cancelled() && (self.holds)(key.grant.as_ref(), &key.seen);
        if !holds {
            key.revoked.cancel();
        }
        holds
    }

    fn keys(&self) -> MutexGuard<'_, Vec<Arc<Key>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenStream {
    /// Returns whether the stream's key is valid at this moment. If it is not, all streams of the key end.
    pub(super) fn holds(&self) -> bool {
        self.revocation.holds(&self.key)
    }

    /// Returns the last bytes of a stream whose key became invalid: a comment, which clients ignore.
    pub(super) fn last_words(&self) -> Bytes {
        let shown = self.key.grant.as_ref().map_or("access key", |grant| grant.holder.shown());
        format!(": the {shown} is no longer valid\n\n").into()
    }

    /// Returns the token that is cancelled when the key becomes invalid.
    pub(super) fn revoked(&self) -> CancellationToken {
        self.key.revoked.clone()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut keys = self.revocation.keys();
        // One reference belongs to the list, and one to this stream.
        if Arc::strong_count(&self.key) <= 2 {
            keys.retain(|key| !Arc::ptr_eq(key, &self.key));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use mcpkg_core::op::Holder;

    fn grant(key: &str) -> Grant {
        Grant {
            holder: Holder::Key(key.to_owned()),
            project: None,
            project_name: None,
            read_only: false,
            consent: false,
            publish: Vec::new(),
            attest: false,
            execute: false,
            expires_at: None,
        }
    }

    #[test]
    fn a_revoked_key_ends_only_its_own_streams() {
        let good = Arc::new(AtomicBool::new(true));
        let asked = Arc::clone(&good);
        let revocation = StreamRevocation::new(Box::new(move |grant, _| {
            asked.load(Ordering::Relaxed) || grant.is_none_or(|grant| grant.holder.name() != "a")
        }));
        let open = |key: &str| revocation.open(Some(&grant(key)));
        let (one, other, again, without) = (open("a"), open("b"), open("a"), revocation.open(None));
        assert!(one.holds());
        good.store(false, Ordering::Relaxed);
        // The first check that finds an invalid key ends the key's other streams too.
        assert!(!one.holds() && again.revoked().is_cancelled());
        revocation.check();
        let ended = [&one, &again, &other, &without].map(|stream| stream.revoked().is_cancelled());
        assert_eq!(ended, [true, true, false, false]);
        // A new key with the same name is a different key.
        let new = open("a");
        drop((one, again));
        assert_eq!(revocation.keys().len(), 3);
        drop((new, other, without));
        assert_eq!(revocation.keys().len(), 0);
    }
}
