//! The sessions of the revisions with a handshake: whose they are, and which are idle.
//!
//! rmcp keeps a session's messages; this module decides who may use it. A session id alone is not enough: the request
//! also needs the key and the project that the session began with.

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

/// Sessions that may be open at once.
const MAX_SESSIONS: usize = 2048;

/// How long a session is kept that has no open stream and asks nothing.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// How long a session has no open stream and asks nothing until it rests: see [`Manager::rest`].
const RESTS: Duration = Duration::from_secs(2);

/// The same for a session whose client has sent nothing since `initialize`: its next message may be slow to come, and a session that is woken is
/// initialized already.
const RESTS_UNUSED: Duration = Duration::from_secs(60);

/// How many of these sessions stay awake that long, the newest. An abandoned burst would keep some 66 KiB for each of them.
const UNUSED_AWAKE: usize = 256;

/// The key and the project that a session began with.
pub(super) type Owner = (Option<String>, Option<String>);

/// The sessions that are open, by id.
#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Session>>,
    /// Held to write while a session is put to rest, and to read while a request comes into one.
    resting: tokio::sync::RwLock<()>,
}

struct Session {
    owner: Owner,
    /// Whether its revision has batches.
    batches: bool,
    used: Instant,
    /// Whether a request has come since it began.
    has_requests: bool,
    streams: usize,
    /// Whether it was told something that it has to know later, such as what to look after.
    is_awake: bool,
    /// Ends the stream that its client listens on.
    listening: Option<CancellationToken>,
    /// The ids of requests that are under way.
    requests: HashSet<String>,
    /// Its installs, which end with the session.
    installs: Arc<SessionInstalls>,
    /// The access of the last request, without and with the session: most requests have the same.
    reach: Option<(Arc<Config>, Arc<Config>)>,
}

/// A request that is under way; its id is free again when this is dropped.
pub(super) struct RequestGuard {
    sessions: Arc<Sessions>,
    session: String,
    id: String,
}

/// Keeps a session as long as one of its streams is open.
pub(super) struct Stream {
    sessions: Arc<Sessions>,
    id: String,
}

impl Sessions {
    /// Notes a session that just began; returns those that have to make room for it.
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

    /// Whether there is room for one more session.
    pub(super) fn has_room(&self) -> bool {
        let sessions = self.lock();
        sessions.len() < MAX_SESSIONS || sessions.values().any(|session| session.streams == 0)
    }

    /// Notes that `owner` uses a session; returns whether it is theirs.
    pub(super) fn enter(&self, id: &str, owner: &Owner) -> bool {
        match self.lock().get_mut(id) {
            Some(session) if session.owner == *owner => {
                (session.used, session.has_requests) = (Instant::now(), true);
                true
            }
            _ => false,
        }
    }

    /// As [`Sessions::enter`], for what rmcp answers: it waits while a session is put to rest, so that none rests that it came into.
    pub(super) async fn wake(&self, id: &str, owner: &Owner) -> bool {
        let _awake = self.resting.read().await;
        self.enter(id, owner)
    }

    /// Has a session rest by `rest`, where it still may.
    pub(super) async fn rest(&self, id: &str, rest: impl Future<Output = ()>) {
        let _resting = self.resting.write().await;
        let may_rest = self.lock().get(id).is_some_and(Session::may_rest);
        if may_rest {
            rest.await;
        }
    }

    /// Returns what a request reaches in a session that is its owner's, where sessions have installs of their own.
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

    /// Keeps a session from resting.
    pub(super) fn keep_awake(&self, id: &str) {
        if let Some(session) = self.lock().get_mut(id) {
            session.is_awake = true;
        }
    }

    /// Returns the sessions that may rest: without a stream, a request and anything to look after.
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

    /// Whether the revision of a session has batches.
    pub(super) fn takes_batches(&self, id: &str) -> bool {
        self.lock().get(id).is_some_and(|session| session.batches)
    }

    /// Notes that a stream of a session is open; it closes when what this returns is dropped.
    pub(super) fn open(self: &Arc<Self>, id: &str) -> Stream {
        if let Some(session) = self.lock().get_mut(id) {
            session.streams += 1;
        }
        Stream { sessions: Arc::clone(self), id: id.to_owned() }
    }

    /// Notes a request; `None` where one with its id is under way in the session.
    pub(super) fn begin_request(self: &Arc<Self>, session: &str, id: &str) -> Option<RequestGuard> {
        if let Some(session) = self.lock().get_mut(session)
            && !session.requests.insert(id.to_owned())
        {
            return None;
        }
        Some(RequestGuard { sessions: Arc::clone(self), session: session.to_owned(), id: id.to_owned() })
    }

    /// Notes that a session's client listens on a new stream, which ends with the token returned; the one before ends now.
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

    /// Forgets the sessions that were idle for too long and that nothing is done for, and returns them.
    pub(super) fn sweep(&self, is_working: impl Fn(&str) -> bool) -> Vec<String> {
        let mut sessions = self.lock();
        let idle = sessions.iter().filter(|(id, session)| session.is_idle_for(IDLE) && !is_working(id));
        let gone: Vec<String> = idle.map(|(id, _)| id.clone()).collect();
        gone.iter().for_each(|id| drop(sessions.remove(id)));
        gone
    }

    /// How many sessions are open.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Whether it may rest at all.
    fn may_rest(&self) -> bool {
        !self.is_awake && self.is_idle_for(RESTS)
    }

    /// Whether it has had nothing to do for so long that it rests.
    fn is_tired(&self) -> bool {
        self.may_rest() && self.is_idle_for(if self.has_requests { RESTS } else { RESTS_UNUSED })
    }

    /// Whether it has had no open stream and no request for so long.
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
    fn of_many_sessions_that_were_only_begun_the_newest_stay_awake() {
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
    fn a_session_that_is_put_to_rest_lets_no_request_in_and_one_with_a_request_does_not_rest() {
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
    fn a_session_goes_with_its_key_and_project() {
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
