//! Counts changes to what one selection of project and tools serves, and tracks which changes each subscriber has seen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

use super::bell::Watched as LiveWatched;
use crate::mcp::by_uri::validator;
use crate::mcp::tools::{self, ToolsValidator};
use crate::mcp::{Config, live};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Reach, Validator};
use mcpkg_store::events::Event;
use mcpkg_store::lists::{self, List};
use mcpkg_store::projects::{self, Project, Selection};
use mcpkg_store::revisions::Kind;
use mcpkg_store::watch::Change;
use mcpkg_store::{Db, Store};

/// The maximum number of URIs that one client may subscribe to.
pub(in crate::mcp) const MAX_URIS: usize = 1024;

/// The maximum number of URIs that are watched for all clients of one project. Every one of them is checked after each
/// change.
const MAX_WATCHED: usize = 16 << 10;

/// The maximum length in bytes of a URI that clients may subscribe to. It exceeds the limit for stored resources.
pub(in crate::mcp) const LONGEST_URI: usize = 8 << 10;

/// How often each list changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lists {
    prompts: u64,
    resources: u64,
    tools: u64,
}

/// The content that one selection of project and tools serves, with its changes.
pub(super) struct Feed {
    /// The configuration of the feed, without a session.
    pub(super) config: Arc<Config>,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

struct State {
    /// `None` until the content can be read for the first time.
    served: Option<Served>,
    lists: Lists,
    watched: HashMap<String, Watched>,
    /// Sessions that may have their own installs, by number.
    sessions: HashMap<u64, OfSession>,
    /// The validator of the live resources in resources/list, once a client requested the list.
    listed: Option<Validator>,
}

/// The tools of a session.
struct OfSession {
    config: Arc<Config>,
    /// `None` while the session has no installs of its own. Its tools are then the same as everybody's.
    tools: Option<ToolsValidator>,
    /// How often the session's list of tools changed.
    changes: u64,
    subscribers: usize,
}

/// The validators of the lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Served {
    project: Option<Uuid>,
    prompts: List,
    resources: List,
    tools: ToolsValidator,
}

impl Served {
    /// Reads what is served now. Values that `changes` does not affect are taken from `before`, if that is of the same
    /// project.
    fn of(
        db: &Db<'_>,
        config: &Config,
        project: Option<&Project>,
        changes: Changes,
        before: Option<&Self>,
    ) -> Result<Self> {
        let uuid = project.map(|project| project.uuid);
        let before = before.filter(|before| before.project == uuid);
        let list = |kind, may_change: bool, before: Option<List>| match (project, before) {
            (None, _) => Ok(List::EMPTY),
            (Some(_), Some(before)) if !may_change => Ok(before),
            (Some(project), _) => lists::validator(db, project, kind),
        };
        Ok(Self {
            project: uuid,
            prompts: list(Kind::Prompt, changes.prompts, before.map(|before| before.prompts))?,
            resources: list(Kind::Resource, changes.resources, before.map(|before| before.resources))?,
            tools: match before {
                Some(before) if !changes.tools => before.tools.clone(),
                _ => tools::validator(db, config)?,
            },
        })
    }
}

/// A URI that clients subscribed to.
struct Watched {
    validator: Option<Validator>,
    changes: u64,
    subscribers: usize,
    /// For a live resource, keeps the watch running. Live resources are not read in a transaction.
    live: Option<Arc<LiveWatched>>,
}

/// The part of the committed events that concerns one project.
struct Relevant {
    changes: Changes,
    /// Whether anything concerned the project, including a refused change.
    anything: bool,
}

impl Relevant {
    fn of(events: &[Event], project: Option<&Project>) -> Self {
        let name = project.map(|project| project.name.as_str());
        let mut relevant = Self { changes: Changes::NO_LIST, anything: false };
        for event in events {
            // A newer version may have operations that this version does not know.
            let operation = crate::DOMAINS.operations().find(|entry| entry.is_kind(&event.kind));
            let changes = operation.map_or(Changes::PROJECT, |entry| entry.changes);
            let done = event.outcome == "ok";
            // The event of a rename has the project's old name.
            if event.project.as_deref() == name || (done && changes.reach == Reach::Everybody) {
                relevant.anything = true;
                if done {
                    relevant.changes = relevant.changes.and(changes);
                }
            }
        }
        relevant
    }
}

impl Feed {
    /// Creates the feed for what `config` serves. Its session is ignored.
    pub(super) fn new(store: &Store, config: &Arc<Config>) -> Self {
        let config = match config.session {
            Some(_) => Arc::new(Config { session: None, ..Config::clone(config) }),
            None => Arc::clone(config),
        };
        // If this fails, everything counts as changed once it can be read.
        let served = store.read(|db| {
            let project = projects::served(db, &config.selection)?;
            Served::of(db, &config, project.as_ref(), Changes::SELECTION, None)
        });
        let state = State {
            served: served.ok(),
            lists: Lists::default(),
            watched: HashMap::new(),
            sessions: HashMap::new(),
            listed: None,
        };
        Self { config, state: Mutex::new(state), changed: watch::Sender::new(()) }
    }

    /// Counts the changes to this feed, and wakes the subscribers if there were any.
    ///
    /// # Errors
    /// If it fails, nothing was counted.
    pub(super) fn take(&self, db: &Db<'_>, change: &Change) -> Result<()> {
        let project = projects::served(db, &self.config.selection)?;
        let before = self.state().served.clone();
        let relevant = match change {
            Change::None => return Ok(()),
            Change::Restored => Relevant { changes: Changes::SELECTION, anything: true },
            Change::Events(_) if before.is_none() => Relevant { changes: Changes::SELECTION, anything: true },
            Change::Events(events) => Relevant::of(events, project.as_ref()),
        };
        if !relevant.anything {
            return Ok(());
        }
        let now = Served::of(db, &self.config, project.as_ref(), relevant.changes, before.as_ref())?;
        let lists = match (&before, change) {
            // A server with only live resources: their list is tracked separately, and the tools never change.
            _ if live::only(&self.config) => Lists::default(),
            (Some(before), Change::Events(_)) => Lists {
                prompts: u64::from(now.prompts != before.prompts),
                resources: u64::from(now.resources != before.resources),
                tools: u64::from(now.tools != before.tools),
            },
            _ => EVERYTHING,
        };
        let sessions = match relevant.changes.tools {
            true => self.changed_for_sessions(db, before.as_ref().filter(|_| lists != EVERYTHING), &now)?,
            false => Vec::new(),
        };
        // Reading validators takes a while, so the lock is not held meanwhile.
        let watched = self.watched(|watched| watched.live.is_none());
        let mut updated = Vec::new();
        if !watched.is_empty() {
            // The project is known by now, so each validator only needs to look up its name.
            let mut config = Config::clone(&self.config);
            if let Some(project) = project {
                config.selection = Selection { named: Some(project.name), ..Selection::default() };
            }
            for (uri, before) in watched {
                let now = validator(db, &config, &uri)?;
                if now != before {
                    updated.push((uri, now));
                }
            }
        }
        let mut state = self.state();
        state.served = Some(now);
        if lists == Lists::default() && updated.is_empty() && sessions.is_empty() {
            return Ok(());
        }
        for (session, tools) in sessions {
            if let Some(session) = state.sessions.get_mut(&session) {
                session.tools = tools;
                session.changes += 1;
            }
        }
        state.lists.prompts += lists.prompts;
        state.lists.resources += lists.resources;
        state.lists.tools += lists.tools;
        state.update(updated);
        drop(state);
        self.changed.send_replace(());
        Ok(())
    }

    /// Returns the live resources that clients subscribed to, with their validators at the last check.
    pub(super) fn live(&self) -> Vec<(String, Option<Validator>)> {
        self.watched(|watched| watched.live.is_some())
    }

    /// Returns the validator of the live resources in resources/list at the last check, if a client requested the list.
    pub(super) fn listed(&self) -> Option<Validator> {
        self.state().listed.clone()
    }

    /// Stores the validator of the answer to resources/list.
    pub(super) fn set_listed(&self, now: Validator) {
        let mut state = self.state();
        let differs = state.listed.as_ref().is_some_and(|before| *before != now);
        state.listed = Some(now);
        // One client now gets the new list. The others must be notified.
        if differs {
            state.lists.resources += 1;
            drop(state);
            self.changed.send_replace(());
        }
    }

    /// Counts the changes of the live resources, and wakes the subscribers if there were any.
    pub(super) fn update_live(&self, updated: Vec<(String, Option<Validator>)>, listed: Option<Validator>) {
        if updated.is_empty() && listed.is_none() {
            return;
        }
        let mut state = self.state();
        if let Some(listed) = listed {
            state.listed = Some(listed);
            state.lists.resources += 1;
        }
        state.update(updated);
        drop(state);
        self.changed.send_replace(());
    }

    fn watched(&self, which: impl Fn(&Watched) -> bool) -> Vec<(String, Option<Validator>)> {
        let state = self.state();
        let watched = state.watched.iter().filter(|(_, watched)| which(watched));
        watched.map(|(uri, watched)| (uri.clone(), watched.validator.clone())).collect()
    }

    /// Returns the sessions with changed tools, and their tools now. If the previous state is unknown, returns all
    /// sessions.
    fn changed_for_sessions(
        &self,
        db: &Db<'_>,
        before: Option<&Served>,
        now: &Served,
    ) -> Result<Vec<(u64, Option<ToolsValidator>)>> {
        let sessions: Vec<(u64, Arc<Config>, Option<ToolsValidator>)> = {
            let state = self.state();
            let of = |(id, session): (&u64, &OfSession)| (*id, Arc::clone(&session.config), session.tools.clone());
            state.sessions.iter().map(of).collect()
        };
        let mut changed = Vec::new();
        for (session, config, tools) in sessions {
            let tools_now = of_session(db, &config)?;
            let seen = before.map(|before| tools.as_ref().unwrap_or(&before.tools));
            if seen != Some(tools_now.as_ref().unwrap_or(&now.tools)) {
                changed.push((session, tools_now));
            }
        }
        Ok(changed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the validator of a session's tools, if the session has installs of its own.
fn of_session(db: &Db<'_>, config: &Config) -> Result<Option<ToolsValidator>> {
    let has_own = config.session.as_ref().is_some_and(|session| !session.is_empty());
    has_own.then(|| tools::validator(db, config)).transpose()
}

/// A change of every list.
const EVERYTHING: Lists = Lists { prompts: 1, resources: 1, tools: 1 };

/// Changes since the last notification of a client.
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
    /// The number of the client's session, if that may have installs of its own.
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
            // As for the feed: if this read fails, the tools count as changed once they can be read.
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

    /// Returns the receiver that is notified when there may be news.
    pub(in crate::mcp) fn changed(&self) -> watch::Receiver<()> {
        self.feed.changed.subscribe()
    }

    /// Subscribes to a URI. Returns whether there was room for it. The resource may not exist yet.
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

impl State {
    /// Returns how often each list of a session changed.
    fn lists_of(&self, session: Option<u64>) -> Lists {
        match session.and_then(|session| self.sessions.get(&session)) {
            Some(session) => Lists { tools: session.changes, ..self.lists },
            None => self.lists,
        }
    }

    fn update(&mut self, updated: Vec<(String, Option<Validator>)>) {
        for (uri, now) in updated {
            if let Some(watched) = self.watched.get_mut(&uri) {
                watched.validator = now;
                watched.changes += 1;
            }
        }
    }

    fn leave(&mut self, session: u64) {
        if let Some(of_session) = self.sessions.get_mut(&session) {
            of_session.subscribers -= 1;
            if of_session.subscribers == 0 {
                self.sessions.remove(&session);
            }
        }
    }

    fn unsubscribe(&mut self, uri: &str) {
        if let Some(watched) = self.watched.get_mut(uri) {
            watched.subscribers -= 1;
            if watched.subscribers == 0 {
                self.watched.remove(uri);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, project: &str, outcome: &str) -> Event {
        Event {
            seq: 1,
            at: 0,
            actor: "shell".to_owned(),
            project: Some(project.to_owned()),
            kind: kind.to_owned(),
            subject: String::new(),
            outcome: outcome.to_owned(),
            session: None,
            subject_name: None,
        }
    }

    #[test]
    fn an_event_changes_what_its_operation_says_and_for_whom() {
        let ours = Project { id: 1, uuid: Uuid::nil(), name: "ours".to_owned(), created_at: 0 };
        let told = |event: Event| {
            let relevant = Relevant::of(&[event], Some(&ours));
            (relevant.changes, relevant.anything)
        };
        assert_eq!(told(event("prompt.create", "ours", "ok")), (Changes::PROMPTS, true));
        assert_eq!(told(event("prompt.create", "theirs", "ok")), (Changes::NO_LIST, false));
        // A refused change is in the audit trail, but changes no list.
        assert_eq!(told(event("prompt.create", "ours", "E_ALREADY_EXISTS")), (Changes::NO_LIST, true));
        assert_eq!(told(event("project.rename", "its-old-name", "ok")), (Changes::SELECTION, true));
        assert_eq!(told(event("project.rename", "its-old-name", "E_NOT_FOUND")), (Changes::NO_LIST, false));
        // Nothing is known about an operation of a newer version, so every list of the project may have changed.
        assert_eq!(told(event("prompt.transmute", "ours", "ok")), (Changes::PROJECT, true));
        assert_eq!(told(event("access.create", "ours", "ok")), (Changes::NO_LIST, true));
    }
}
