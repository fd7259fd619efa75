//! What sessions were told, for clients whose connection broke: a stream goes on after the last event that its client had.
//!
//! rmcp would forget a request's answer as soon as it was sent, and repeat what a session's stream told before.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, stream};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{
    EventId, EventStore, EventStoreError, EventStream, ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::watch;

/// Bytes of events that are remembered in all; the newest event is, whatever it takes.
const MOST: usize = 4 << 20;

/// How long an event is remembered.
const KEPT: Duration = Duration::from_secs(10 * 60);

/// What rmcp calls the stream of a session, behind the session's id.
const COMMON: &str = ":common";

/// rmcp's sessions, whose streams are read from memory.
pub(super) struct Manager {
    local: LocalSessionManager,
    memory: Arc<Memory>,
}

/// The events of all streams, oldest first.
#[derive(Default)]
pub(super) struct Memory(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of the newest event: events of all streams are counted together.
    newest: u64,
    streams: HashMap<String, Told>,
    /// The streams of the events that are remembered, with their sizes.
    order: VecDeque<(String, usize, Instant)>,
    bytes: usize,
}

/// What a stream told.
struct Told {
    /// Whose it is; unknown until its client was sent the first event.
    session: Option<SessionId>,
    events: VecDeque<(u64, ServerSseMessage)>,
    /// The newest event that somebody who listened was given.
    heard: u64,
    /// Whether nothing more comes: a request was answered.
    ended: bool,
    bell: watch::Sender<()>,
}

impl Manager {
    pub(super) fn new() -> Self {
        let memory = Arc::new(Memory::default());
        let mut local = LocalSessionManager::default().with_event_store(Arc::clone(&memory) as Arc<dyn EventStore>);
        // A session ends when its client ends it or leaves it alone, not because nothing happened for a while.
        local.session_config.keep_alive = None;
        Self { local, memory }
    }

    /// Forgets what was told long ago.
    pub(super) fn sweep(&self) {
        self.memory.state().forget(MOST, KEPT);
    }
}

/// Streams and resumes from memory; all else is rmcp's. It does not hand the memory on as [`EventStore`], so that a
/// stateless request still ends with its client.
impl SessionManager for Manager {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.local.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.memory.end(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (memory, session) = (Arc::clone(&self.memory), SessionId::clone(id));
        let events = self.local.create_stream(id, message).await?;
        Ok(events.inspect(move |event| memory.own(event, &session)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.memory.listen(id))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.memory.resume(id, &last_event_id))
    }
}

impl Memory {
    /// Returns what the session's own stream tells after the last event that anybody was given.
    fn listen(self: &Arc<Self>, session: &SessionId) -> EventStream {
        let name = format!("{session}{COMMON}");
        let (heard, bell) = {
            let mut state = self.state();
            let told = state.told(&name);
            (told.heard, told.bell.subscribe())
        };
        self.follow(name, heard, bell)
    }

    /// Returns what a stream of the session tells after the event; nothing where that is none of its events.
    fn resume(self: &Arc<Self>, session: &SessionId, last: &str) -> EventStream {
        let Some((name, number)) = parse(last) else {
            // What a client has before the first event of the session's own stream.
            return self.listen(session);
        };
        let state = self.state();
        let found = state.streams.get(name).filter(|told| told.session.as_ref() == Some(session));
        let bell = found.map(|told| told.bell.subscribe());
        drop(state);
        match bell {
            Some(bell) => self.follow(name.to_owned(), number, bell),
            None => Box::pin(stream::empty()),
        }
    }

    /// Returns the events of a stream after the one numbered `after`, those that come too.
    fn follow(self: &Arc<Self>, name: String, after: u64, bell: watch::Receiver<()>) -> EventStream {
        let memory = Arc::clone(self);
        Box::pin(stream::unfold((memory, name, after, bell), |(memory, name, after, mut bell)| async move {
            loop {
                match memory.after(&name, after) {
                    Some(Some((number, event))) => return Some((event, (memory, name, number, bell))),
                    Some(None) => bell.changed().await.ok()?,
                    None => return None,
                }
            }
        }))
    }

    /// Returns the next event after a number, if there is one; `None` at the end of the stream.
    fn after(&self, name: &str, after: u64) -> Option<Option<(u64, ServerSseMessage)>> {
        let mut state = self.state();
        let told = state.streams.get_mut(name)?;
        let next = told.events.iter().find(|(number, _)| *number > after).cloned();
        if let Some((number, _)) = &next {
            told.heard = told.heard.max(*number);
        }
        (next.is_some() || !told.ended).then_some(next)
    }

    /// Notes whose stream an event is of.
    fn own(&self, event: &ServerSseMessage, session: &SessionId) {
        let Some((name, _)) = event.event_id.as_deref().and_then(parse) else { return };
        if let Some(told) = self.state().streams.get_mut(name) {
            told.session.get_or_insert_with(|| SessionId::clone(session));
        }
    }

    fn keep(&self, name: &str, event: &ServerSseMessage) -> EventId {
        let answers = matches!(event.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        let size = event.message.as_deref().map_or(0, size) + name.len();
        let mut state = self.state();
        state.newest += 1;
        let number = state.newest;
        let id = format!("{name}/{number}");
        let mut event = event.clone();
        event.event_id = Some(id.clone());
        let told = state.told(name);
        told.events.push_back((number, event));
        told.ended |= answers && !name.ends_with(COMMON);
        told.bell.send_replace(());
        state.order.push_back((name.to_owned(), size, Instant::now()));
        state.bytes += size;
        state.forget(MOST, KEPT);
        id
    }

    /// Forgets what a session was told; its streams end.
    fn end(&self, session: &SessionId) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.streams.retain(|_, told| told.session.as_ref() != Some(session));
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
impl EventStore for Memory {
    async fn store_event(&self, stream_id: &str, event: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        Ok(self.keep(stream_id, event))
    }

    async fn replay_events_after(&self, _last_event_id: &str) -> Result<EventStream, EventStoreError> {
        Err("streams are resumed within their session".into())
    }
}

impl State {
    /// Returns a stream; it begins where nothing was told yet.
    fn told(&mut self, name: &str) -> &mut Told {
        self.streams.entry(name.to_owned()).or_insert_with(|| Told {
            session: name.strip_suffix(COMMON).map(SessionId::from),
            events: VecDeque::new(),
            heard: 0,
            ended: false,
            bell: watch::Sender::new(()),
        })
    }

    /// Forgets the oldest events beyond `most` bytes or `kept` time, and the streams of which nothing is left.
    fn forget(&mut self, most: usize, kept: Duration) {
        while let Some((name, size, at)) = self.order.front()
            && (at.elapsed() >= kept || self.bytes > most && self.order.len() > 1)
        {
            self.bytes -= size;
            if let Some(told) = self.streams.get_mut(name) {
                told.events.pop_front();
                if told.events.is_empty() && told.bell.receiver_count() == 0 {
                    self.streams.remove(name);
                }
            }
            self.order.pop_front();
        }
    }
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

/// Returns how long a message is as JSON.
fn size(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}
