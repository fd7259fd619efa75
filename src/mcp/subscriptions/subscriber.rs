//! Tracks which changes of a feed one client was notified of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::bell::Watched as LiveWatched;
use super::feed::{Feed, Lists, OfSession, Watched, of_session};
use crate::mcp::Config;
use crate::mcp::by_uri::validator;
use mcpkg_core::op::Validator;
use mcpkg_store::Store;

/// The maximum number of URIs that one client may subscribe to.
pub(in crate::mcp) const MAX_URIS: usize = 1024;

/// The maximum number of URIs that are watched for all clients of one feed. It is limited because each of them is
/// checked after each change.
const MAX_WATCHED: usize = 16 << 10;

/// The maximum length in bytes of a URI that clients may subscribe to. It is larger than the limit for stored
/// resources.
pub(in crate::mcp) const LONGEST_URI: usize = 8 << 10;

/// The changes since the last notification of a client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct News {
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) tools: bool,
    /// The changed URIs that the client subscribed to, in order.
    pub(super) updated: Vec<String>,
}

/// The subscriptions of one client, and the counts it was notified of.
pub(in crate::mcp) struct Subscriber {
    feed: Arc<Feed>,
    /// The number of the client's session, if the session may have installs of its own.
    session: Option<u64>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    lists: Lists,
    uris: HashMap<String, u64>,
}

impl Subscriber {
    pub(super) fn new(store: &Store, feed: Arc<Feed>, config: &Arc<Config>) -> Self {
        let session = config.session.as_ref().map(|session| session.id());
        let lists = {
            // If this read fails, the tools count as changed once they can be read, as in the feed.
            let tools = session.and_then(|_| store.read(|db| of_session(db, config)).ok().flatten());
            let mut state = feed.state();
            if let Some(session) = session {
                let new = || OfSession { config: Arc::clone(config), tools, changes: 0, subscribers: 0 };
                state.sessions.entry(session).or_insert_with(new).subscribers += 1;
            }
            state.lists_of(session)
        };
        Self { feed, session, seen: Mutex::new(Seen { lists, uris: HashMap::new() }) }
    }

    /// Returns a receiver that is notified when there may be news.
    pub(in crate::mcp) fn changed(&self) -> watch::Receiver<()> {
        self.feed.receiver()
    }

    /// Subscribes to a URI. Returns false if a limit is reached. The resource may not exist yet.
    pub(in crate::mcp) fn subscribe(&self, store: &Store, uri: &str) -> bool {
        let now = || store.read(|db| validator(db, &self.feed.config, uri)).ok().flatten();
        self.subscribe_with(uri, || Watched { validator: now(), changes: 0, subscribers: 0, live: None })
    }

    /// Subscribes to a live resource that is being watched. `now` is the validator of its current answer.
    pub(super) fn subscribe_live(&self, uri: &str, now: Option<Validator>, live: Arc<LiveWatched>) -> bool {
        self.subscribe_with(uri, || Watched { validator: now, changes: 0, subscribers: 0, live: Some(live) })
    }

    fn subscribe_with(&self, uri: &str, watched: impl FnOnce() -> Watched) -> bool {
        let mut seen = self.seen();
        if seen.uris.contains_key(uri) {
            return true;
        }
        if seen.uris.len() >= MAX_URIS || uri.len() > LONGEST_URI {
            return false;
        }
        let mut state = self.feed.state();
        if state.watched.len() >= MAX_WATCHED && !state.watched.contains_key(uri) {
            return false;
        }
        let watched = state.watched.entry(uri.to_owned()).or_insert_with(watched);
        watched.subscribers += 1;
        seen.uris.insert(uri.to_owned(), watched.changes);
        true
    }

    pub(in crate::mcp) fn is_subscribed(&self, uri: &str) -> bool {
        self.seen().uris.contains_key(uri)
    }

    pub(in crate::mcp) fn unsubscribe(&self, uri: &str) {
        if self.seen().uris.remove(uri).is_some() {
            self.feed.state().unsubscribe(uri);
        }
    }

    /// Returns the changes since the last call.
    pub(in crate::mcp) fn news(&self) -> News {
        let mut seen = self.seen();
        let state = self.feed.state();
        let lists = state.lists_of(self.session);
        let before = std::mem::replace(&mut seen.lists, lists);
        let mut updated = Vec::new();
        for (uri, changes) in &mut seen.uris {
            if let Some(watched) = state.watched.get(uri)
                && *changes != watched.changes
            {
                *changes = watched.changes;
                updated.push(uri.clone());
            }
        }
        updated.sort_unstable();
        News {
            prompts: before.prompts != lists.prompts,
            resources: before.resources != lists.resources,
            tools: before.tools != lists.tools,
            updated,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut self.seen().uris);
        let mut state = self.feed.state();
        uris.keys().for_each(|uri| state.unsubscribe(uri));
        if let Some(session) = self.session {
            state.leave(session);
        }
    }
}
