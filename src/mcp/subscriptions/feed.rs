//! Counts the changes to the content that is served for one selection of project and tools.

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

/// How often each list has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lists {
    pub(super) prompts: u64,
    pub(super) resources: u64,
    pub(super) tools: u64,
}

/// The content that is served for one selection of project and tools, with counts of its changes.
pub(super) struct Feed {
    /// The configuration of the feed, without a session.
    pub(super) config: Arc<Config>,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

pub(super) struct State {
    /// `None` until the content can be read for the first time.
    served: Option<Served>,
    lists: Lists,
    pub(super) watched: HashMap<String, Watched>,
    /// Sessions that may have their own installs, by number.
    pub(super) sessions: HashMap<u64, OfSession>,
    /// The validator of the live resources in resources/list, once a client requested the list.
    listed: Option<Validator>,
}

/// The tools of a session.
pub(super) struct OfSession {
    pub(super) config: Arc<Config>,
    /// `None` while the session has no installs of its own. Its tools are then the same as everybody's.
    pub(super) tools: Option<ToolsValidator>,
    /// How often the session's list of tools has changed.
    pub(super) changes: u64,
    pub(super) subscribers: usize,
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
    /// Reads the validators of the content that is served now. Validators that `changes` cannot affect are copied from
    /// `before`, if it is for the same project.
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
pub(super) struct Watched {
    pub(super) validator: Option<Validator>,
    pub(super) changes: u64,
    pub(super) subscribers: usize,
    /// Set for a live resource, and keeps its watch running. [`Feed::take`] does not check live resources, because they
    /// are not read in a transaction.
    pub(super) live: Option<Arc<LiveWatched>>,
}

/// The part of the committed events that concerns one project.
struct Relevant {
    changes: Changes,
    /// Whether any event concerned the project, including a refused change.
    anything: bool,
}

impl Relevant {
    fn of(events: &[Event], project: Option<&Project>) -> Self {
        let name = project.map(|project| project.name.as_str());
        let mut relevant = Self { changes: Changes::NO_LIST, anything: false };
        for event in events {
            // A newer version of mcpkg may have recorded an operation that this version does not know.
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
    /// Creates the feed for the content that is served with `config`. Ignores the session of `config`.
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
    /// Fails if the database cannot be read. Nothing is counted then.
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
        // The lock is not held here, because reading validators takes a while.
        let watched = self.watched(|watched| watched.live.is_none());
        let mut updated = Vec::new();
        if !watched.is_empty() {
            // Select the project by name, so that each validator only has to look up the name and does not resolve the
            // selection again.
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

    /// Counts the changes to live resources, and wakes the subscribers if there were any.
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

    /// Returns the sessions with changed tools, and the validators of their tools now. If the previous state is unknown
    /// (`before` is `None`), returns all sessions.
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

    /// Returns a receiver that is notified when there may be news.
    pub(super) fn receiver(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the validator of a session's tools, or `None` if the session has no installs of its own.
pub(super) fn of_session(db: &Db<'_>, config: &Config) -> Result<Option<ToolsValidator>> {
    let has_own = config.session.as_ref().is_some_and(|session| !session.is_empty());
    has_own.then(|| tools::validator(db, config)).transpose()
}

/// One change to every list.
const EVERYTHING: Lists = Lists { prompts: 1, resources: 1, tools: 1 };

impl State {
    /// Returns how often each list of a session changed.
    pub(super) fn lists_of(&self, session: Option<u64>) -> Lists {
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

    pub(super) fn leave(&mut self, session: u64) {
        if let Some(of_session) = self.sessions.get_mut(&session) {
            of_session.subscribers -= 1;
            if of_session.subscribers == 0 {
                self.sessions.remove(&session);
            }
        }
    }

    pub(super) fn unsubscribe(&mut self, uri: &str) {
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
    fn an_event_changes_the_lists_and_projects_that_its_operation_declares() {
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
