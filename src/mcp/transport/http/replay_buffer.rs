//! Replay buffer of server-sent events, for clients that reconnect with Last-Event-ID.
//!
//! rmcp would forget a request's answer as soon as it was sent, and repeat what a session's stream told before.

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::Response;
use http_body_util::StreamBody;
use hyper::body::Frame;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::watch;
use tokio_stream::wrappers::ReceiverStream;

use super::answer::Body;
use super::sse::ALIVE;
use super::stream::event_stream;

/// Bytes of events that are remembered in all; the newest event is, whatever it takes.
const MOST: usize = 1 << 20;

/// Requests of one session that may be under way.
const MAX_WORKING: usize = 256;

/// How long an event is remembered.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// What rmcp calls the stream of a session, behind the session's id.
const COMMON: &str = ":common";

/// How long a client waits until it connects anew, in milliseconds.
const RETRY: u128 = 3000;

/// The end of an event that has no data and only tells a client where it is in a stream (a priming event).
const NO_DATA: &str = "data:\n\n";

/// rmcp's sessions, whose streams are read from memory.
pub(super) struct Manager {
    local: Arc<LocalSessionManager>,
    replay: Arc<ReplayBuffer>,
    orders: Mutex<HashMap<SessionId, Arc<Order>>>,
}

/// Held while a request of a session begins, and while one is cancelled: a cancellation that came between would leave its
/// id taken for good.
type Order = tokio::sync::Mutex<()>;

/// The events that were sent to all sessions, oldest first, within bounds of time and bytes.
#[derive(Default)]
pub(super) struct ReplayBuffer(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of the newest event: events of all streams are counted together.
    newest: u64,
    streams: HashMap<String, StreamEvents>,
    /// The sessions whose streams begin with an event without data. Only 2025-11-25 knows such events; clients of the
    /// revisions before it take one for a broken message.
    primed: HashSet<SessionId>,
    /// The streams of the requests that are under way, by their session and their id.
    working: HashMap<SessionId, HashMap<RequestId, String>>,
    /// The streams of the events that are remembered, with their sizes.
    order: VecDeque<(String, usize, Instant)>,
    bytes: usize,
}

/// The events of one stream.
struct StreamEvents {
    /// Whose it is; unknown for a moment while it begins.
    session: Option<SessionId>,
    /// The request that it answers, while that is under way.
    request: Option<RequestId>,
    events: VecDeque<(u64, Bytes)>,
    /// The newest event that somebody who listened was given.
    heard: u64,
    /// Whether nothing more comes: a request was answered.
    ended: bool,
    changed: watch::Sender<()>,
}

impl Manager {
    pub(super) fn new() -> Self {
        let replay = Arc::new(ReplayBuffer::default());
        let mut local = LocalSessionManager::default().with_event_store(Arc::clone(&replay) as Arc<dyn EventStore>);
        // A session ends when its client ends it or leaves it alone, not because nothing happened for a while.
        local.session_config.keep_alive = None;
        // rmcp keeps the channel of a request that was cancelled, more than 1 KiB each, for clients that resume it within a
        // minute. They resume from the replay buffer.
        local.session_config.completed_cache_ttl = Duration::ZERO;
        Self { local: Arc::new(local), replay, orders: Mutex::default() }
    }

    /// Returns what a session is told from now on, or what it was told after the event `last`.
    pub(super) fn follow(&self, session: &str, last: Option<&str>) -> Response<Body> {
        let events = self.replay.follow(session, last).map(|event| Ok::<_, Infallible>(Frame::data(event)));
        event_stream(StreamBody::new(events))
    }

    /// Whether a request with this id is under way in a session, also where its connection broke.
    pub(super) fn works_on(&self, session: &str, request: RequestId) -> bool {
        self.replay.state().working.get(session).is_some_and(|working| working.contains_key(&request))
    }

    /// Whether a session has as many requests under way as it may have.
    pub(super) fn is_busy(&self, session: &str) -> bool {
        self.replay.state().working.get(session).is_some_and(|working| working.len() >= MAX_WORKING)
    }

    /// Returns the order of a session; one that is not there any more has none that lasts.
    fn order(&self, id: &SessionId) -> Arc<Order> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned().unwrap_or_default()
    }

    /// Forgets what was told long ago.
    pub(super) fn sweep(&self) {
        let mut state = self.replay.state();
        state.forget(MOST, KEPT);
        // Those that ended, or were listened to, after their last event was forgotten.
        state.streams.retain(|name, told| !(told.events.is_empty() && told.is_over(name)));
    }
}

/// All is rmcp's but what GET answers: rmcp looks whether it is asked rightly, and [`Manager::follow`] gives the events. The
/// memory is not handed on as [`EventStore`], so that a stateless request still ends with its client.
impl SessionManager for Manager {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.local.create_session().await?;
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).insert(SessionId::clone(&id), Arc::default());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let answer = self.local.initialize_session(id, message).await?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(agreed) = &response.result
            && agreed.protocol_version == ProtocolVersion::V_2025_11_25
        {
            self.replay.state().primed.insert(SessionId::clone(id));
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.replay.end(id);
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (local, replay, order) = (Arc::clone(&self.local), Arc::clone(&self.replay), self.order(id));
        let id = SessionId::clone(id);
        // A client may leave at any moment, and this with it; rmcp would keep what was begun by half for good.
        let begun = tokio::spawn(async move {
            let request = match &message {
                JsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            let _order = order.lock().await;
            let session = local.sessions.read().await.get(&id).cloned();
            let session = session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(SessionId::clone(&id)))?;
            let receiver = session.establish_request_wise_channel().await?;
            session.push_message(message, receiver.http_request_id).await?;
            let mut events = ReceiverStream::new(receiver.inner);
            // What a client comes back with is there at once, and names the stream.
            let first = events.next().await;
            replay.own(first.as_ref(), &id, request);
            let primed = replay.state().primed.contains(&id);
            let shown = move |event: &ServerSseMessage| std::future::ready(primed || event.message.is_some());
            Ok(stream::iter(first).chain(events).filter(shown))
        });
        begun.await.unwrap_or_else(|_| Err(SessionError::SessionServiceTerminated.into()))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        if let JsonRpcMessage::Notification(told) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &told.notification
            && let Some(request) = &cancelled.params.request_id
        {
            let order = self.order(id);
            let _order = order.lock().await;
            // rmcp answers it no more.
            self.replay.cancel(id, request);
            return self.local.accept_message(id, message).await;
        }
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        _id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(stream::empty())
    }

    async fn resume(
        &self,
        _id: &SessionId,
        _last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(stream::empty())
    }
}

/// Where a client is in a stream.
struct Place {
    replay: Arc<ReplayBuffer>,
    name: String,
    /// The number of the last event that it had.
    after: u64,
    changed: watch::Receiver<()>,
}

impl ReplayBuffer {
    /// Returns the events after `last`, those that come too. Without it, or where it is none of an event, they are those
    /// of the session's own stream that nobody was given yet; nothing comes where it is another session's.
    fn follow(
        self: &Arc<Self>,
        session: &str,
        last: Option<&str>,
    ) -> impl Stream<Item = Bytes> + Send + Sync + 'static {
        let (name, number) = match last.and_then(parse) {
            Some((name, number)) => (name.to_owned(), Some(number)),
            None => (format!("{session}{COMMON}"), None),
        };
        let mut state = self.state();
        let told = match name.strip_suffix(COMMON) == Some(session) {
            true => Some(state.stream(&name)),
            false => state.streams.get_mut(&name).filter(|told| told.session.as_deref() == Some(session)),
        };
        let place = told.map(|told| Place {
            replay: Arc::clone(self),
            after: number.unwrap_or(told.heard),
            changed: told.changed.subscribe(),
            name,
        });
        let primed = state.primed.contains(session);
        drop(state);
        // A client that loses the connection before the first event comes back to this place too.
        let first = place.as_ref().map(|place| event(&place.name, place.after, ""));
        let shown = move |event: &Bytes| std::future::ready(primed || !event.ends_with(NO_DATA.as_bytes()));
        let events = stream::iter(first).chain(stream::unfold(place, |place| async move {
            let mut place = place?;
            loop {
                match place.replay.after(&place.name, place.after) {
                    Some(Some((number, event))) => {
                        place.after = number;
                        return Some((event, Some(place)));
                    }
                    Some(None) => {}
                    None => return None,
                }
                match tokio::time::timeout(ALIVE, place.changed.changed()).await {
                    Ok(rung) => rung.ok()?,
                    Err(_) => return Some((Bytes::from_static(b": alive\n\n"), Some(place))),
                }
            }
        }));
        events.filter(shown)
    }

    /// Returns the next event after a number, if there is one; `None` at the end of the stream.
    fn after(&self, name: &str, after: u64) -> Option<Option<(u64, Bytes)>> {
        let mut state = self.state();
        let told = state.streams.get_mut(name)?;
        let next = told.events.iter().find(|(number, _)| *number > after).cloned();
        if let Some((number, _)) = &next {
            told.heard = told.heard.max(*number);
        }
        (next.is_some() || !told.ended).then_some(next)
    }

    /// Notes whose stream an event is of, and what it answers.
    fn own(&self, event: Option<&ServerSseMessage>, session: &SessionId, request: Option<RequestId>) {
        let Some((name, _)) = event.and_then(|event| event.event_id.as_deref()).and_then(parse) else { return };
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(told) = state.streams.get_mut(name) else { return };
        told.session = Some(SessionId::clone(session));
        if let Some(request) = request.filter(|_| !told.ended) {
            told.request = Some(request.clone());
            state.working.entry(SessionId::clone(session)).or_default().insert(request, name.to_owned());
        }
    }

    /// Ends the stream of a request that is not answered any more.
    fn cancel(&self, session: &SessionId, request: &RequestId) {
        let mut state = self.state();
        if let Some(name) = state.working.get(session).and_then(|working| working.get(request)).cloned() {
            state.over(&name);
        }
    }

    fn keep(&self, name: &str, told: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        let message = told.message.as_deref();
        let answers = matches!(message, Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        let json = message.map(serde_json::to_string).transpose()?.unwrap_or_default();
        let mut state = self.state();
        state.newest += 1;
        let number = state.newest;
        let event = event(name, number, &json);
        let size = event.len() + 2 * name.len();
        let stream = state.stream(name);
        // Who listens next hears once that something changed, however often it did.
        let said = format!("data: {json}\n\n");
        let unheard = |(number, told): &(u64, Bytes)| *number > stream.heard && told.ends_with(said.as_bytes());
        if name.ends_with(COMMON) && stream.events.iter().any(unheard) {
            return Ok(id(name, number));
        }
        stream.events.push_back((number, event));
        stream.changed.send_replace(());
        if answers && !name.ends_with(COMMON) {
            state.over(name);
        }
        state.order.push_back((name.to_owned(), size, Instant::now()));
        state.bytes += size;
        state.forget(MOST, KEPT);
        Ok(id(name, number))
    }

    /// Forgets what a session was told; its streams end.
    fn end(&self, session: &SessionId) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.primed.remove(session);
        state.streams.retain(|_, told| told.session.as_ref() != Some(session));
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
        self.keep(stream_id, event)
    }

    async fn replay_events_after(&self, _last_event_id: &str) -> Result<EventStream, EventStoreError> {
        Err("streams are resumed within their session".into())
    }
}

impl State {
    /// Returns a stream; it begins where nothing was told yet.
    fn stream(&mut self, name: &str) -> &mut StreamEvents {
        self.streams.entry(name.to_owned()).or_insert_with(|| StreamEvents {
            session: name.strip_suffix(COMMON).map(SessionId::from),
            request: None,
            events: VecDeque::new(),
            heard: 0,
            ended: false,
            changed: watch::Sender::new(()),
        })
    }

    /// Notes that nothing more comes on a stream.
    fn over(&mut self, name: &str) {
        let Some(told) = self.streams.get_mut(name) else { return };
        told.ended = true;
        told.changed.send_replace(());
        if let (Some(session), Some(request)) = (&told.session, told.request.take())
            && let Some(working) = self.working.get_mut(session)
        {
            working.remove(&request);
            if working.is_empty() {
                self.working.remove(session);
            }
        }
    }

    /// Forgets the oldest events beyond `most` bytes or `kept` time, and the streams of which nothing is left.
    fn forget(&mut self, most: usize, kept: Duration) {
        while let Some((name, size, at)) = self.order.front()
            && (at.elapsed() >= kept || self.bytes > most && self.order.len() > 1)
        {
            self.bytes -= size;
            if let Some(told) = self.streams.get_mut(name) {
                told.events.pop_front();
                if told.events.is_empty() && told.is_over(name) {
                    self.streams.remove(name);
                }
            }
            self.order.pop_front();
        }
    }
}

impl StreamEvents {
    /// Whether nobody misses it: nothing more comes, or it is made anew when something does.
    fn is_over(&self, name: &str) -> bool {
        let again = name.ends_with(COMMON) || self.session.is_none();
        (self.ended || again) && self.changed.receiver_count() == 0
    }
}

/// Returns an event as it is sent.
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

/// Returns the stream and the number that an event's id is made of.
fn parse(id: &str) -> Option<(&str, u64)> {
    let (name, number) = id.rsplit_once('/')?;
    Some((name, number.parse().ok()?))
}

/// Whether an event is of a session's own stream, or of none.
pub(super) fn is_common(id: &str) -> bool {
    parse(id).is_none_or(|(name, _)| name.ends_with(COMMON))
}
