//! Tracks the sessions of protocol revisions with a handshake: their owners, and which of them are idle.
//!
//! rmcp runs the sessions; this module decides who may use them. A session id alone is not enough. The request also
//! needs the key and the project that the session began with.
//!
//! An idle session *rests*: rmcp's memory for it is freed until its next request. A session that stays idle ends.

mod manager;
mod replay_buffer;
mod resting;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::access_control::owner;
use crate::mcp::Config;
use mcpkg_store::tools::session::SessionInstalls;

pub(super) use manager::Manager;
pub(super) use replay_buffer::is_common;

/// The maximum number of open sessions.
const MAX_SESSIONS: usize = 2048;

/// How long a session without an open stream and without requests is kept.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// How long a session must have no open stream and no requests before it rests; see [`Manager::rest`].
const RESTS: Duration = Duration::from_secs(2);

/// Like [`RESTS`], for a client that has sent nothing since `initialize`. Its next message may take a while. That
/// message must not find a resumed session, because rmcp treats a resumed session as initialized.
const RESTS_UNUSED: Duration = Duration::from_secs(60);

/// How many never-used sessions stay awake for [`RESTS_UNUSED`]; older ones rest earlier. Without this limit, a burst
/// of abandoned sessions would keep about 66 KiB each.
const UNUSED_AWAKE: usize = 256;

/// The key and the project that a session began with.
pub(super) type Owner = (Option<String>, Option<String>);

/// The open sessions, by id.
#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Session>>,
    /// Locked for writing while a session is put to rest, and for reading while a request enters one.
    resting: tokio::sync::RwLock<()>,
}

struct Session {
    owner: Owner,
    /// Whether the session's revision has batches.
    batches: bool,
    used: Instant,
    /// Whether the client has sent anything in the session since `initialize`.
    has_requests: bool,
    streams: usize,
    /// Whether the session must not rest, because rmcp keeps state for it, such as its subscriptions.
    is_awake: bool,
    /// Cancelled to end the stream that the client listens on.
    listening: Option<CancellationToken>,
    /// The ids of requests in progress.
    requests: HashSet<String>,
    /// The session's installs, which end with it.
    installs: Arc<SessionInstalls>,
    /// The configuration of the last request, without and with the session's installs. Both are cached, because most
    /// requests have the same configuration.
    reach: Option<(Arc<Config>, Arc<Config>)>,
}

/// A request in progress. Dropping this value frees its id.
pub(super) struct RequestGuard {
    sessions: Arc<Sessions>,
    session: String,
    id: String,
}

/// Keeps a session alive while one of its streams is open.
pub(super) struct Stream {
    sessions: Arc<Sessions>,
    id: String,
}

impl Sessions {
    /// Registers a new session. Returns the sessions that have to end to make room for it.
    pub(super) fn begin(&self, id: &str, owner: Owner, batches: bool) -> Vec<String> {
        let mut sessions = self.lock();
        let mut gone = Vec::new();
        if sessions.len() >= MAX_SESSIONS {
            let unused = sessions.iter().filter(|(_, session)| session.streams == 0);
            gone.extend(unused.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone()));
            gone.iter().for_each(|id| drop(sessions.remove(id)));
        }
        let session = Session {
            owner,
            batches,
            used: Instant::now(),
            has_requests: false,
            streams: 0,
            is_awake: false,
            listening: None,
            requests: HashSet::new(),
            installs: Arc::default(),
            reach: None,
        };
        sessions.insert(id.to_owned(), session);
        gone
    }

    /// Returns whether there is room for one more session, if need be by ending one without a stream.
    pub(super) fn has_room(&self) -> bool {
        let sessions = self.lock();
        sessions.len() < MAX_SESSIONS || sessions.values().any(|session| session.streams == 0)
    }

    /// Records that `owner` uses a session. Returns whether the session belongs to `owner`.
    pub(super) fn enter(&self, id: &str, owner: &Owner) -> bool {
        match self.lock().get_mut(id) {
            Some(session) if session.owner == *owner => {
                (session.used, session.has_requests) = (Instant::now(), true);
                true
            }
            _ => false,
        }
    }

    /// Like [`Sessions::enter`], for requests that rmcp answers. Waits while any session is put to rest, so that the
    /// request does not enter a session that is about to rest.
    pub(super) async fn wake(&self, id: &str, owner: &Owner) -> bool {
        let _awake = self.resting.read().await;
        self.enter(id, owner)
    }

    /// Puts a session to rest by running `rest`, if the session may still rest.
    pub(super) async fn rest(&self, id: &str, rest: impl Future<Output = ()>) {
        let _resting = self.resting.write().await;
        let may_rest = self.lock().get(id).is_some_and(Session::may_rest);
        if may_rest {
            rest.await;
        }
    }

    /// Returns the configuration for a request in a session, including the session's own installs if it has any.
    pub(super) fn reach(&self, id: &str, config: &Arc<Config>) -> Option<Arc<Config>> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(id).filter(|session| session.owner == owner(config))?;
        if let Some((of, reach)) = &session.reach
            && Arc::ptr_eq(of, config)
        {
            return Some(Arc::clone(reach));
        }
        let reach = Arc::new(config.in_session(Arc::clone(&session.installs)));
        session.reach = Some((Arc::clone(config), Arc::clone(&reach)));
        Some(reach)
    }

    pub(super) fn keep_awake(&self, id: &str) {
        if let Some(session) = self.lock().get_mut(id) {
            session.is_awake = true;
        }
    }

    /// Returns the sessions to put to rest: those that have been idle long enough, without a stream, a request or state
    /// to keep.
    pub(super) fn tired(&self) -> Vec<String> {
        let sessions = self.lock();
        let unused = sessions.values().filter(|session| !session.has_requests && session.streams == 0);
        let mut unused: Vec<Instant> = unused.map(|session| session.used).collect();
        unused.sort_unstable_by(|one, other| other.cmp(one));
        let crowded = unused.get(UNUSED_AWAKE);
        let tired = sessions.iter().filter(|(_, session)| {
            session.may_rest() && (session.is_tired() || crowded.is_some_and(|since| session.used <= *since))
        });
        tired.map(|(id, _)| id.clone()).collect()
    }

    /// Returns whether the protocol revision of a session has batches.
    pub(super) fn takes_batches(&self, id: &str) -> bool {
        self.lock().get(id).is_some_and(|session| session.batches)
    }

    /// Marks a stream of a session as open until the returned guard is dropped.
    pub(super) fn open(self: &Arc<Self>, id: &str) -> Stream {
        if let Some(session) = self.lock().get_mut(id) {
            session.streams += 1;
        }
        Stream { sessions: Arc::clone(self), id: id.to_owned() }
    }

    /// Registers a request. Returns `None` if the session already has a request with this id in progress.
    pub(super) fn begin_request(self: &Arc<Self>, session: &str, id: &str) -> Option<RequestGuard> {
        if let Some(session) = self.lock().get_mut(session)
            && !session.requests.insert(id.to_owned())
        {
            return None;
        }
        Some(RequestGuard { sessions: Arc::clone(self), session: session.to_owned(), id: id.to_owned() })
    }

    /// Registers a new stream that the session's client listens on, and ends the previous one. Cancelling the returned
    /// token ends the new stream.
    pub(super) fn listen(&self, id: &str) -> CancellationToken {
        let new = CancellationToken::new();
        let former = self.lock().get_mut(id).and_then(|session| session.listening.replace(new.clone()));
        if let Some(former) = former {
            former.cancel();
        }
        new
    }

    pub(super) fn end(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Removes the sessions that were idle for too long and have no work in progress, and returns them.
    pub(super) fn sweep(&self, is_working: impl Fn(&str) -> bool) -> Vec<String> {
        let mut sessions = self.lock();
        let idle = sessions.iter().filter(|(id, session)| session.is_idle_for(IDLE) && !is_working(id));
        let gone: Vec<String> = idle.map(|(id, _)| id.clone()).collect();
        gone.iter().for_each(|id| drop(sessions.remove(id)));
        gone
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Returns whether the session may rest at all.
    fn may_rest(&self) -> bool {
        !self.is_awake && self.is_idle_for(RESTS)
    }

    /// Returns whether the session has been idle long enough to rest.
    fn is_tired(&self) -> bool {
        self.may_rest() && self.is_idle_for(if self.has_requests { RESTS } else { RESTS_UNUSED })
    }

    /// Returns whether the session has had no open stream and no request for this long.
    fn is_idle_for(&self, time: Duration) -> bool {
        self.streams == 0 && self.requests.is_empty() && self.used.elapsed() >= time
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().get_mut(&self.session) {
            session.requests.remove(&self.id);
            session.used = Instant::now();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.lock().get_mut(&self.id) {
            session.streams = session.streams.saturating_sub(1);
            session.used = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_session_without_a_stream_rests_soon_and_goes_after_ten_minutes() {
        let sessions = Arc::new(Sessions::default());
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        let minutes = |id: &str, seconds| {
            sessions.begin(id, (None, None), false);
            if let (Some(session), Some(used)) = (sessions.lock().get_mut(id), ago(seconds)) {
                session.used = used;
            }
        };
        minutes("left", 601);
        minutes("resting", 590);
        minutes("busy", 700);
        minutes("followed", 700);
        let _request = sessions.begin_request("busy", "1");
        let _stream = sessions.open("followed");
        sessions.begin("new", (None, None), false);
        let mut tired = sessions.tired();
        tired.sort();
        assert_eq!(tired, ["left", "resting"]);
        sessions.keep_awake("resting");
        assert_eq!(sessions.tired(), ["left"]);
        assert_eq!(sessions.sweep(|_| false), ["left"]);
        assert_eq!(sessions.count(), 4);
    }

    #[test]
    fn only_the_newest_of_many_unused_sessions_stay_awake() {
        let sessions = Sessions::default();
        let all = UNUSED_AWAKE + 10;
        let begin = |ids: std::ops::Range<usize>| {
            for n in ids {
                sessions.begin(&n.to_string(), (None, None), false);
                let used = Instant::now().checked_sub(Duration::from_secs(40) - Duration::from_millis(100 * n as u64));
                if let (Some(session), Some(used)) = (sessions.lock().get_mut(&n.to_string()), used) {
                    session.used = used;
                }
            }
        };
        begin(0..UNUSED_AWAKE);
        assert!(sessions.tired().is_empty());
        begin(UNUSED_AWAKE..all);
        let mut tired: Vec<usize> = sessions.tired().iter().filter_map(|id| id.parse().ok()).collect();
        tired.sort_unstable();
        assert_eq!(tired, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn requests_wait_while_a_session_is_put_to_rest_and_a_session_in_use_does_not_rest() {
        let sessions = Sessions::default();
        sessions.begin("1", (None, None), false);
        let ago = Instant::now().checked_sub(RESTS);
        if let (Some(session), Some(used)) = (sessions.lock().get_mut("1"), ago) {
            (session.used, session.has_requests) = (used, true);
        }
        let mut resting = Box::pin(sessions.rest("1", std::future::pending()));
        assert!(resting.as_mut().now_or_never().is_none());
        assert!(sessions.wake("1", &(None, None)).now_or_never().is_none());
        drop(resting);
        assert_eq!(sessions.wake("1", &(None, None)).now_or_never(), Some(true));
        assert!(sessions.rest("1", std::future::pending()).now_or_never().is_some(), "it was used again");
    }

    #[test]
    fn a_session_accepts_only_its_key_and_project() {
        let sessions = Arc::new(Sessions::default());
        let owner: Owner = (Some("ci".to_owned()), None);
        sessions.begin("1", owner.clone(), false);
        assert!(sessions.enter("1", &owner));
        assert!(!sessions.enter("1", &(None, None)));
        assert!(!sessions.enter("1", &(Some("ci".to_owned()), Some("p".to_owned()))));
        assert!(!sessions.enter("2", &owner));
        sessions.end("1");
        assert!(!sessions.enter("1", &owner));
    }

    #[test]
    fn the_least_used_session_without_a_stream_makes_room() {
        let sessions = Arc::new(Sessions::default());
        for id in 0..MAX_SESSIONS {
            assert!(sessions.begin(&id.to_string(), (None, None), false).is_empty());
        }
        let stream = sessions.open("0");
        assert!(sessions.enter("1", &(None, None)));
        assert_eq!(sessions.begin("new", (None, None), false), ["2"]);
        drop(stream);
        assert!(sessions.has_room());
        assert_eq!(sessions.lock().len(), MAX_SESSIONS);
    }
}
