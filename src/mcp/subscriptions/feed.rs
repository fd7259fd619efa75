//! What one selection of a project serves: how often each part of it changed, and who has heard of that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

use crate::error::Result;
use crate::mcp::templates::{Validator, served, validator};
use crate::store::events::Event;
use crate::store::lists::{self, List};
use crate::store::projects::{Project, Selection};
use crate::store::revisions::Kind;
use crate::store::watch::Change;
use crate::store::{Db, Store};

/// URIs that one client may subscribe to.
pub(in crate::mcp) const MAX_URIS: usize = 1024;

/// URIs that are watched for all clients of one project: after each change every one of them is looked at.
const MAX_WATCHED: usize = 16 << 10;

/// The length of a URI that may be subscribed to, in bytes: more than a stored resource's may have.
pub(in crate::mcp) const LONGEST_URI: usize = 8 << 10;

/// How often each list changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lists {
    prompts: u64,
    resources: u64,
    tools: u64,
}

/// What one selection of a project serves.
pub(super) struct Feed {
    pub(super) selection: Selection,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

struct State {
    served: Served,
    lists: Lists,
    watched: HashMap<String, Watched>,
}

/// What is served, as far as its lists tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Served {
    project: Option<Uuid>,
    prompts: List,
    resources: List,
}

impl Served {
    const NOTHING: Self = Self { project: None, prompts: List::EMPTY, resources: List::EMPTY };

    fn of(db: &Db<'_>, project: Option<&Project>) -> Result<Self> {
        let Some(project) = project else { return Ok(Self::NOTHING) };
        let [prompts, resources] = [Kind::Prompt, Kind::Resource].map(|kind| lists::validator(db, project, kind));
        Ok(Self { project: Some(project.uuid), prompts: prompts?, resources: resources? })
    }
}

/// A URI that somebody subscribed to.
struct Watched {
    validator: Option<Validator>,
    changes: u64,
    subscribers: usize,
}

impl Feed {
    pub(super) fn new(store: &Store, selection: Selection) -> Self {
        // What cannot be read now is told when it can be.
        let served = store.read(|db| Served::of(db, served(db, &selection)?.as_ref())).unwrap_or(Served::NOTHING);
        let state = State { served, lists: Lists::default(), watched: HashMap::new() };
        Self { selection, state: Mutex::new(state), changed: watch::Sender::new(()) }
    }

    /// Counts what changed here, and rings where anything did.
    ///
    /// # Errors
    /// `E_DB_BUSY`, `E_STORAGE`; nothing was counted then.
    pub(super) fn take(&self, db: &Db<'_>, change: &Change) -> Result<()> {
        let project = served(db, &self.selection)?;
        let (now, before) = (Served::of(db, project.as_ref())?, self.state().served);
        let mut lists = Lists {
            prompts: u64::from(now.prompts != before.prompts),
            resources: u64::from(now.resources != before.resources),
            tools: 0,
        };
        match change {
            Change::None => return Ok(()),
            Change::Restored => lists = EVERYTHING,
            Change::Events(events) => {
                lists.tools =
                    events.iter().filter(|event| event.outcome == "ok" && event.kind.starts_with("tool.")).count()
                        as u64;
                let name = project.as_ref().map(|project| project.name.as_str());
                // What happens to a project itself may be told under another name than it has now.
                let ours = |event: &Event| event.project.as_deref() == name || event.kind.starts_with("project.");
                if lists == Lists::default() && now == before && !events.iter().any(ours) {
                    return Ok(());
                }
            }
        }
        // Stamps take a while; who asks for news meanwhile does not wait for them.
        let watched: Vec<(String, Option<Validator>)> =
            self.state().watched.iter().map(|(uri, watched)| (uri.clone(), watched.validator.clone())).collect();
        // Which project is served is known by now: each validator needs to look up its name only.
        let selection = match project {
            Some(project) => Selection { named: Some(project.name), ..Selection::default() },
            None => self.selection.clone(),
        };
        let mut updated = Vec::new();
        for (uri, before) in watched {
            let now = validator(db, &selection, &uri)?;
            if now != before {
                updated.push((uri, now));
            }
        }
        let mut state = self.state();
        state.served = now;
        if lists == Lists::default() && updated.is_empty() {
            return Ok(());
        }
        state.lists.prompts += lists.prompts;
        state.lists.resources += lists.resources;
        state.lists.tools += lists.tools;
        for (uri, now) in updated {
            if let Some(watched) = state.watched.get_mut(&uri) {
                watched.validator = now;
                watched.changes += 1;
            }
        }
        drop(state);
        self.changed.send_replace(());
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const EVERYTHING: Lists = Lists { prompts: 1, resources: 1, tools: 0 };

/// What a client has not heard of yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct News {
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) tools: bool,
    /// URIs that the client subscribed to, in their order.
    pub(super) updated: Vec<String>,
}

/// What one client asked for and has heard.
pub(in crate::mcp) struct Subscriber {
    feed: Arc<Feed>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    lists: Lists,
    uris: HashMap<String, u64>,
}

impl Subscriber {
    pub(super) fn new(feed: Arc<Feed>) -> Self {
        let lists = feed.state().lists;
        Self { feed, heard: Mutex::new(Heard { lists, uris: HashMap::new() }) }
    }

    /// Rings when there may be news.
    pub(in crate::mcp) fn changed(&self) -> watch::Receiver<()> {
        self.feed.changed.subscribe()
    }

    /// Subscribes to a URI; returns whether there was room for it. One that is not there yet may come.
    pub(in crate::mcp) fn want(&self, store: &Store, uri: &str) -> bool {
        let mut heard = self.heard();
        if heard.uris.contains_key(uri) {
            return true;
        }
        if heard.uris.len() >= MAX_URIS || uri.len() > LONGEST_URI {
            return false;
        }
        let now = || store.read(|db| validator(db, &self.feed.selection, uri)).ok().flatten();
        let mut state = self.feed.state();
        if state.watched.len() >= MAX_WATCHED && !state.watched.contains_key(uri) {
            return false;
        }
        let watched = state.watched.entry(uri.to_owned()).or_insert_with(|| Watched {
            validator: now(),
            changes: 0,
            subscribers: 0,
        });
        watched.subscribers += 1;
        heard.uris.insert(uri.to_owned(), watched.changes);
        true
    }

    /// Whether this is subscribed to a URI.
    pub(in crate::mcp) fn wants(&self, uri: &str) -> bool {
        self.heard().uris.contains_key(uri)
    }

    /// Ends a subscription.
    pub(in crate::mcp) fn unwant(&self, uri: &str) {
        if self.heard().uris.remove(uri).is_some() {
            self.feed.state().leave(uri);
        }
    }

    /// Returns what is new since the last call.
    pub(in crate::mcp) fn news(&self) -> News {
        let mut heard = self.heard();
        let state = self.feed.state();
        let before = std::mem::replace(&mut heard.lists, state.lists);
        let mut updated = Vec::new();
        for (uri, seen) in &mut heard.uris {
            if let Some(watched) = state.watched.get(uri)
                && *seen != watched.changes
            {
                *seen = watched.changes;
                updated.push(uri.clone());
            }
        }
        updated.sort_unstable();
        News {
            prompts: before.prompts != state.lists.prompts,
            resources: before.resources != state.lists.resources,
            tools: before.tools != state.lists.tools,
            updated,
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut self.heard().uris);
        let mut state = self.feed.state();
        uris.keys().for_each(|uri| state.leave(uri));
    }
}

impl State {
    fn leave(&mut self, uri: &str) {
        if let Some(watched) = self.watched.get_mut(uri) {
            watched.subscribers -= 1;
            if watched.subscribers == 0 {
                self.watched.remove(uri);
            }
        }
    }
}
