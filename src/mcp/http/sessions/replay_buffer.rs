//! Keeps sent events for clients that reconnect with Last-Event-ID.
//!
//! rmcp's own cache would forget a request's answer as soon as it was sent, and would repeat events that were already
//! sent on a session's stream.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage, SessionId,
};
use tokio::sync::watch;

use crate::mcp::http::stream::{ALIVE, KEEP_ALIVE};

/// The maximum size of all remembered events in bytes. The newest event is always kept, whatever its size.
const MAX_BYTES: usize = 1 << 20;

/// How long an event is remembered.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// The end of rmcp's name for the stream of a session; the name begins with the session's id.
const COMMON: &str = ":common";

/// How many milliseconds a client waits before it reconnects.
const RETRY: u128 = 3000;

/// The end of an event without data (a priming event), which only gives a client its position in a stream.
const NO_DATA: &str = "data:\n\n";

/// The remembered events of all sessions, limited by age and size.
#[derive(Default)]
pub(super) struct ReplayBuffer(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of the newest event. All streams share one counter.
    newest: u64,
    streams: HashMap<String, StreamEvents>,
    /// The sessions with streams that begin with an event without data. Only 2025-11-25 defines such events; older
    /// clients would treat one as a broken message.
    primed: HashSet<SessionId>,
    /// The streams of the requests in progress, by session and request id.
    working: HashMap<SessionId, HashMap<RequestId, String>>,
    /// The streams of the remembered events, with the events' sizes and times.
    order: VecDeque<(String, usize, Instant)>,
    bytes: usize,
}

/// The events of one stream.
struct StreamEvents {
    /// The stream's session; `None` until [`ReplayBuffer::assign`] sets it.
    session: Option<SessionId>,
    /// The request that the stream answers, while it is in progress.
    request: Option<RequestId>,
    events: VecDeque<(u64, Bytes)>,
    /// The newest event that a client received.
    delivered: u64,
    /// Whether the stream is complete: its request was answered or cancelled.
    ended: bool,
    changed: watch::Sender<()>,
}

/// A client that follows a stream.
struct Follower {
    replay: Arc<ReplayBuffer>,
    name: String,
    /// The number of the last event that the client received.
    after: u64,
    changed: watch::Receiver<()>,
}

impl ReplayBuffer {
    /// Returns the events after the event `last`, followed by new ones as they come.
    ///
    /// Without `last`, or if it is not the id of an event, these are the events of the session's own stream that were
    /// not delivered yet. If `last` belongs to another session, the stream is empty.
    pub(super) fn follow(
        self: &Arc<Self>,
        session: &str,
        last: Option<&str>,
    ) -> impl Stream<Item = Bytes> + Send + Sync + 'static {
        let (name, number) = match last.and_then(parse) {
            Some((name, number)) => (name.to_owned(), Some(number)),
            None => (format!("{session}{COMMON}"), None),
        };
        let mut state = self.state();
        let stream = match name.strip_suffix(COMMON) == Some(session) {
            true => Some(state.stream(&name)),
            false => state.streams.get_mut(&name).filter(|stream| stream.session.as_deref() == Some(session)),
        };
        let follower = stream.map(|stream| Follower {
            replay: Arc::clone(self),
            after: number.unwrap_or(stream.delivered),
            changed: stream.changed.subscribe(),
            name,
        });
        let primed = state.primed.contains(session);
        drop(state);
        // With this event, a client that loses the connection before the first real event can resume, too.
        let first = follower.as_ref().map(|follower| event(&follower.name, follower.after, ""));
        let shown = move |event: &Bytes| std::future::ready(primed || !event.ends_with(NO_DATA.as_bytes()));
        let events = stream::iter(first).chain(stream::unfold(follower, |follower| async move {
            let mut follower = follower?;
            loop {
                match follower.replay.after(&follower.name, follower.after) {
                    Some(Some((number, event))) => {
                        follower.after = number;
                        return Some((event, Some(follower)));
                    }
                    Some(None) => {}
                    None => return None,
                }
                match tokio::time::timeout(KEEP_ALIVE, follower.changed.changed()).await {
                    Ok(rung) => rung.ok()?,
                    Err(_) => return Some((Bytes::from_static(ALIVE), Some(follower))),
                }
            }
        }));
        events.filter(shown)
    }

    /// Returns the first event after the event `after`: `Some(None)` if there is none yet, `None` at the end of the
    /// stream.
    fn after(&self, name: &str, after: u64) -> Option<Option<(u64, Bytes)>> {
        let mut state = self.state();
        let stream = state.streams.get_mut(name)?;
        let next = stream.events.iter().find(|(number, _)| *number > after).cloned();
        if let Some((number, _)) = &next {
            stream.delivered = stream.delivered.max(*number);
        }
        (next.is_some() || !stream.ended).then_some(next)
    }

    /// Records which session and request the stream of an event belongs to.
    pub(super) fn assign(&self, event: Option<&ServerSseMessage>, session: &SessionId, request: Option<RequestId>) {
        let Some((name, _)) = event.and_then(|event| event.event_id.as_deref()).and_then(parse) else { return };
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(stream) = state.streams.get_mut(name) else { return };
        stream.session = Some(SessionId::clone(session));
        if let Some(request) = request.filter(|_| !stream.ended) {
            stream.request = Some(request.clone());
            state.working.entry(SessionId::clone(session)).or_default().insert(request, name.to_owned());
        }
    }

    /// Ends the stream of a request that will not be answered.
    pub(super) fn cancel(&self, session: &SessionId, request: &RequestId) {
        let mut state = self.state();
        if let Some(name) = state.working.get(session).and_then(|working| working.get(request)).cloned() {
            state.close(&name);
        }
    }

    /// Returns whether a request of a session is in progress, even if its connection broke.
    pub(super) fn works_on(&self, session: &str, request: &RequestId) -> bool {
        self.state().working.get(session).is_some_and(|working| working.contains_key(request))
    }

    /// Returns how many requests of a session are in progress.
    pub(super) fn working(&self, session: &str) -> usize {
        self.state().working.get(session).map_or(0, HashMap::len)
    }

    /// Sends list_changed for every list to the next client that listens in a session.
    pub(super) fn tell_all_changed(&self, session: &SessionId) {
        for list in ["prompts", "resources", "tools"] {
            let message =
                serde_json::json!({ "jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed") });
            if let Ok(message) = serde_json::from_value(message) {
                let _ = self.store(&format!("{session}{COMMON}"), &ServerSseMessage::from_message(message));
            }
        }
    }

    /// Records that the streams of a session begin with an event without data.
    pub(super) fn prime(&self, session: &SessionId) {
        self.state().primed.insert(SessionId::clone(session));
    }

    /// Returns whether the streams of a session begin with an event without data.
    pub(super) fn is_primed(&self, session: &SessionId) -> bool {
        self.state().primed.contains(session)
    }

    /// Forgets the events that are older than [`KEPT`].
    pub(super) fn sweep(&self) {
        let mut state = self.state();
        state.forget(MAX_BYTES, KEPT);
        // Remove streams that a client was still following when their last event was forgotten.
        state.streams.retain(|name, stream| !(stream.events.is_empty() && stream.is_forgettable(name)));
    }

    fn store(&self, name: &str, sent: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        let message = sent.message.as_deref();
        let answers = matches!(message, Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        let json = message.map(serde_json::to_string).transpose()?.unwrap_or_default();
        let mut state = self.state();
        state.newest += 1;
        let number = state.newest;
        let event = event(name, number, &json);
        let size = event.len() + 2 * name.len();
        let stream = state.stream(name);
        // If something changed several times, the next listening client gets one message, not several.
        let said = format!("data: {json}\n\n");
        let undelivered =
            |(number, event): &(u64, Bytes)| *number > stream.delivered && event.ends_with(said.as_bytes());
        if name.ends_with(COMMON) && stream.events.iter().any(undelivered) {
            return Ok(id(name, number));
        }
        stream.events.push_back((number, event));
        stream.changed.send_replace(());
        if answers && !name.ends_with(COMMON) {
            state.close(name);
        }
        state.order.push_back((name.to_owned(), size, Instant::now()));
        state.bytes += size;
        state.forget(MAX_BYTES, KEPT);
        Ok(id(name, number))
    }

    /// Forgets the events of a session and ends its streams.
    pub(super) fn end(&self, session: &SessionId) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.primed.remove(session);
        state.streams.retain(|_, stream| stream.session.as_ref() != Some(session));
        state.working.remove(session);
        let (streams, bytes) = (&state.streams, &mut state.bytes);
        state.order.retain(|(name, size, _)| {
            let kept = streams.contains_key(name);
            *bytes -= if kept { 0 } else { *size };
            kept
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl EventStore for ReplayBuffer {
    async fn store_event(&self, stream_id: &str, event: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        self.store(stream_id, event)
    }

    async fn replay_events_after(&self, _last_event_id: &str) -> Result<EventStream, EventStoreError> {
        Err("only a stream's session can resume the stream".into())
    }
}

impl State {
    /// Returns the stream with this name. Creates it if it does not exist.
    fn stream(&mut self, name: &str) -> &mut StreamEvents {
        self.streams.entry(name.to_owned()).or_insert_with(|| StreamEvents {
            session: name.strip_suffix(COMMON).map(SessionId::from),
            request: None,
            events: VecDeque::new(),
            delivered: 0,
            ended: false,
            changed: watch::Sender::new(()),
        })
    }

    /// Marks a stream as complete.
    fn close(&mut self, name: &str) {
        let Some(stream) = self.streams.get_mut(name) else { return };
        stream.ended = true;
        stream.changed.send_replace(());
        if let (Some(session), Some(request)) = (&stream.session, stream.request.take())
            && let Some(working) = self.working.get_mut(session)
        {
            working.remove(&request);
            if working.is_empty() {
                self.working.remove(session);
            }
        }
    }

    /// Forgets the oldest events beyond `most` bytes or `kept` time, and the streams that have no events left.
    fn forget(&mut self, most: usize, kept: Duration) {
        while let Some((name, size, at)) = self.order.front()
            && (at.elapsed() >= kept || self.bytes > most && self.order.len() > 1)
        {
            self.bytes -= size;
            if let Some(stream) = self.streams.get_mut(name) {
                stream.events.pop_front();
                if stream.events.is_empty() && stream.is_forgettable(name) {
                    self.streams.remove(name);
                }
            }
            self.order.pop_front();
        }
    }
}

impl StreamEvents {
    /// Returns whether the stream can be forgotten: nobody follows it, and it is complete or will be recreated for its
    /// next event.
    fn is_forgettable(&self, name: &str) -> bool {
        let is_made_anew = name.ends_with(COMMON) || self.session.is_none();
        (self.ended || is_made_anew) && self.changed.receiver_count() == 0
    }
}

fn event(name: &str, number: u64, data: &str) -> Bytes {
    let id = id(name, number);
    match data {
        "" => format!("id: {id}\nretry: {RETRY}\n{NO_DATA}").into(),
        _ => format!("id: {id}\ndata: {data}\n\n").into(),
    }
}

fn id(name: &str, number: u64) -> EventId {
    format!("{name}/{number}")
}

/// Splits an event's id into the name of the stream and the number of the event.
fn parse(id: &str) -> Option<(&str, u64)> {
    let (name, number) = id.rsplit_once('/')?;
    Some((name, number.parse().ok()?))
}

/// Returns whether an event belongs to a session's own stream, or to no stream at all.
pub(in crate::mcp) fn is_common(id: &str) -> bool {
    parse(id).is_none_or(|(name, _)| name.ends_with(COMMON))
}
