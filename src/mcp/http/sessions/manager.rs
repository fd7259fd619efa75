//! rmcp's sessions, with our replay buffer instead of rmcp's own memory.

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

/// Requests of one session that may be under way.
const MAX_WORKING: usize = 256;

/// rmcp's sessions, whose streams are read from memory.
pub(in crate::mcp) struct Manager {
    local: Arc<LocalSessionManager>,
    replay: Arc<ReplayBuffer>,
    orders: Mutex<HashMap<SessionId, Arc<Order>>>,
    resting: Arc<Resting>,
}

/// Held while a request of a session begins, and while one is cancelled: a cancellation that came between would leave its
/// id taken for good.
type Order = tokio::sync::Mutex<()>;

impl Manager {
    pub(in crate::mcp) fn new() -> Self {
        let replay = Arc::new(ReplayBuffer::default());
        let mut local = LocalSessionManager::default().with_event_store(Arc::clone(&replay) as Arc<dyn EventStore>);
        // A session ends when its client ends it or leaves it alone, not because nothing happened for a while.
        local.session_config.keep_alive = None;
        // rmcp keeps the channel of a request that was cancelled, more than 1 KiB each, for clients that resume it within a
        // minute. They resume from the replay buffer.
        local.session_config.completed_cache_ttl = Duration::ZERO;
        Self { local: Arc::new(local), replay, orders: Mutex::default(), resting: Arc::default() }
    }

    /// Returns the stream of a session from now on, or what followed the event `last`.
    pub(in crate::mcp) fn follow(&self, session: &str, last: Option<&str>) -> Response<Body> {
        let events = self.replay.follow(session, last).map(|event| Ok::<_, Infallible>(Frame::data(event)));
        event_stream(StreamBody::new(events))
    }

    /// Whether a request with this id is under way in a session, also where its connection broke.
    pub(in crate::mcp) fn works_on(&self, session: &str, request: RequestId) -> bool {
        self.replay.works_on(session, &request)
    }

    /// Whether a session has as many requests under way as it may have.
    pub(in crate::mcp) fn is_busy(&self, session: &str) -> bool {
        self.replay.working(session) >= MAX_WORKING
    }

    /// Whether a session has requests under way, also those whose connection broke.
    pub(in crate::mcp) fn is_working(&self, session: &str) -> bool {
        self.replay.working(session) > 0
    }

    /// Returns the order of a session; for an ended session, a temporary one.
    fn order(&self, id: &SessionId) -> Arc<Order> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned().unwrap_or_default()
    }

    /// Returns what keeps of sessions what begins them again.
    pub(in crate::mcp) fn store(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.resting) as Arc<dyn SessionStore>
    }

    /// Gives back what rmcp keeps for a session that nobody uses, four times as much as all else of it. Its next request begins it
    /// again.
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

/// All is rmcp's but what GET answers: rmcp looks whether it is asked rightly, and [`Manager::follow`] gives the events. The
/// replay buffer is not handed on as [`EventStore`], so that a stateless request still ends with its client.
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
        // Nobody looked for it what changed meanwhile.
        self.replay.tell_all_changed(&id);
        Ok(restored)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        // The worker of a session that now rests reports its end here.
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
            // The first event of a resumed stream is there at once, and names the stream.
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
