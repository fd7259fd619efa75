//! Adapts rmcp's sessions to mcpkg's replay buffer, which replaces rmcp's own message cache.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    EventStore, RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionStore,
};
use tokio_stream::wrappers::ReceiverStream;

use super::replay_buffer::ReplayBuffer;
use super::resting::Resting;
use crate::mcp::http::answer::Body;
use crate::mcp::http::stream::event_stream;

/// The maximum number of requests in progress per session.
const MAX_WORKING: usize = 256;

/// rmcp's sessions, with streams that clients read from the replay buffer.
pub(in crate::mcp) struct Manager {
    local: Arc<LocalSessionManager>,
    replay: Arc<ReplayBuffer>,
    orders: Mutex<HashMap<SessionId, Arc<Order>>>,
    resting: Arc<Resting>,
}

/// A session's lock, held while a request begins and while one is cancelled. If a request were cancelled while it
/// begins, its id would stay blocked.
type Order = tokio::sync::Mutex<()>;

impl Manager {
    pub(in crate::mcp) fn new() -> Self {
        let replay = Arc::new(ReplayBuffer::default());
        let mut local = LocalSessionManager::default().with_event_store(Arc::clone(&replay) as Arc<dyn EventStore>);
        // rmcp must not end idle sessions. `Sessions` does that, because it knows which sessions have an open stream.
        local.session_config.keep_alive = None;
        // rmcp keeps the channels of cancelled requests, more than 1 KiB each, for clients that resume them within a
        // minute. Our clients resume from the replay buffer.
        local.session_config.completed_cache_ttl = Duration::ZERO;
        Self { local: Arc::new(local), replay, orders: Mutex::default(), resting: Arc::default() }
    }

    /// Returns the stream of a session: the events after the event `last`, followed by new ones. Without `last`, it
    /// begins with the events that were not delivered yet.
    pub(in crate::mcp) fn follow(&self, session: &str, last: Option<&str>) -> Response<Body> {
        let events = self.replay.follow(session, last).map(|event| Ok::<_, Infallible>(Frame::data(event)));
        event_stream(StreamBody::new(events))
    }

    /// Returns whether a request with this id is in progress in a session, even if its connection broke.
    pub(in crate::mcp) fn works_on(&self, session: &str, request: RequestId) -> bool {
        self.replay.works_on(session, &request)
    }

    /// Returns whether a session has the maximum number of requests in progress.
    pub(in crate::mcp) fn is_busy(&self, session: &str) -> bool {
        self.replay.working(session) >= MAX_WORKING
    }

    /// Returns whether a session has requests in progress, including those with a broken connection.
    pub(in crate::mcp) fn is_working(&self, session: &str) -> bool {
        self.replay.working(session) > 0
    }

    /// Returns the lock of a session. For a session that has ended, returns a new lock that nobody else uses.
    fn order(&self, id: &SessionId) -> Arc<Order> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned().unwrap_or_default()
    }

    /// Returns the store with the data that sessions need to resume.
    pub(in crate::mcp) fn store(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.resting) as Arc<dyn SessionStore>
    }

    /// Frees the memory that rmcp uses for an unused session, about 80% of the session's total. The session's next
    /// request resumes it.
    pub(in crate::mcp) async fn rest(&self, id: &SessionId) {
        if !self.local.has_session(id).await.unwrap_or(false) {
            return;
        }
        self.resting.begin(id);
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let _ = self.local.close_session(id).await;
    }

    pub(in crate::mcp) fn sweep(&self) {
        self.replay.sweep();
    }
}

/// Mostly delegates to rmcp. For a GET, rmcp only validates the request, and [`Manager::follow`] supplies the events.
/// rmcp's sessions store their events in the replay buffer. But the buffer is not the [`EventStore`] of rmcp's
/// HTTP service, because then a stateless request would keep running after its client disconnects.
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
            self.replay.prime(id);
        }
        Ok(answer)
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        let restored = self.local.restore_session(SessionId::clone(&id)).await?;
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).insert(SessionId::clone(&id), Arc::default());
        // While the session was resting, nothing tracked changes for it.
        self.replay.tell_all_changed(&id);
        Ok(restored)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // The worker of a session that has begun to rest reports its end here.
        if self.resting.has_ended(id) {
            return Ok(());
        }
        self.resting.forget(id);
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
        // The client may disconnect at any moment, which drops this future. A spawned task still completes. Otherwise,
        // rmcp would keep a half-started request for good.
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
            // The first event of a resumable stream is available at once, and names the stream.
            let first = events.next().await;
            replay.assign(first.as_ref(), &id, request);
            let primed = replay.is_primed(&id);
            let shown = move |event: &ServerSseMessage| std::future::ready(primed || event.message.is_some());
            Ok(stream::iter(first).chain(events).filter(shown))
        });
        begun.await.unwrap_or_else(|_| Err(SessionError::SessionServiceTerminated.into()))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        if let JsonRpcMessage::Notification(sent) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &sent.notification
            && let Some(request) = &cancelled.params.request_id
        {
            let order = self.order(id);
            let _order = order.lock().await;
            // rmcp does not answer a cancelled request.
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
