//! Tracks the requests that rmcp is handling, by id, and where each answer goes.

mod phase;
mod rmcp_transport;
mod sink;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, JsonRpcRequest, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::output::Output;

pub(super) use phase::Phase;
pub(super) use rmcp_transport::RmcpTransport;
pub(super) use sink::Sink;

/// The maximum number of requests in flight, including those queued behind a request with the same id. When it is
/// reached, no further input is read. Open `subscriptions/listen` requests do not count.
const MAX_REQUESTS: usize = 256;

/// The maximum total size of the requests in flight, in bytes. A larger request is accepted if it is the only one.
const MAX_BYTES: usize = 64 << 20;

/// The maximum number of open `subscriptions/listen` requests of one client.
const MAX_LISTEN_STREAMS: usize = 64;

/// The maximum number of running handlers and unsent answers. It limits memory use if a client does not read.
const MAX_HANDLERS: usize = 8;

/// The requests in flight, and the channel to rmcp. `Front`, [`RmcpTransport`] and the code that stops the server share
/// this table.
pub(crate) struct InFlight {
    state: Mutex<State>,
    removed: Condvar,
    handlers: Arc<Semaphore>,
    output: Arc<Output>,
}

struct State {
    phase: Phase,
    requests: HashMap<RequestId, Pending>,
    listening: usize,
    /// The number of requests that wait for a request with the same id.
    queued: usize,
    /// The size in bytes of the requests in progress or queued.
    bytes: usize,
    /// `None` once the input has ended.
    to_rmcp: Option<mpsc::UnboundedSender<ClientJsonRpcMessage>>,
}

/// An accepted request, to be handed to rmcp.
pub(super) struct Accepted {
    pub(super) request: JsonRpcRequest<ClientRequest>,
    /// The size in bytes of the line with the request.
    pub(super) size: usize,
    /// Whether the request is `subscriptions/listen`.
    pub(super) listens: bool,
    pub(super) sink: Sink,
}

/// A request that rmcp has not answered yet.
struct Pending {
    sink: Sink,
    size: usize,
    listens: bool,
    cancelled: bool,
    handler_ended: bool,
    /// Held from the start of the handler until its answer was sent.
    permit: Option<OwnedSemaphorePermit>,
    /// Requests with the same id that arrived later.
    queued: VecDeque<Accepted>,
}

/// Travels with a request from the transport to its handler. Dropping this value marks the end of the handler. The drop
/// locks the state, so dropping a request with a guard while the state is locked would deadlock.
pub(crate) struct HandlerGuard {
    in_flight: Arc<InFlight>,
    id: RequestId,
}

impl HandlerGuard {
    /// Waits for one of the [`MAX_HANDLERS`] permits to run a handler. Call this last, because a handler that waits for
    /// another one must not hold a permit.
    pub(crate) async fn acquire_permit(&self) {
        let permit = Arc::clone(&self.in_flight.handlers).acquire_owned().await.ok();
        if let Some(request) = self.in_flight.state().requests.get_mut(&self.id) {
            request.permit = permit;
        }
    }

    /// Releases the permit, so that other handlers run while this one waits for something long.
    pub(crate) fn release_permit(&self) {
        if let Some(request) = self.in_flight.state().requests.get_mut(&self.id) {
            request.permit = None;
        }
    }
}

impl Drop for HandlerGuard {
    fn drop(&mut self) {
        let mut state = self.in_flight.state();
        if let Some(request) = state.requests.get_mut(&self.id) {
            request.handler_ended = true;
            if request.cancelled {
                self.in_flight.abandon(&mut state, &self.id);
            }
        }
    }
}

impl InFlight {
    /// Returns an empty table, and the channel on which rmcp receives requests.
    fn new(output: Arc<Output>) -> (Arc<Self>, mpsc::UnboundedReceiver<ClientJsonRpcMessage>) {
        let (to_rmcp, from_front) = mpsc::unbounded_channel();
        let state = State {
            phase: Phase::Starting,
            requests: HashMap::new(),
            listening: 0,
            queued: 0,
            bytes: 0,
            to_rmcp: Some(to_rmcp),
        };
        let in_flight = Self {
            state: Mutex::new(state),
            removed: Condvar::new(),
            handlers: Arc::new(Semaphore::new(MAX_HANDLERS)),
            output,
        };
        (Arc::new(in_flight), from_front)
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Returns the phase, but waits while initialize is being answered. A client that has read the answer may send its
    /// next line before the sending thread has set the new phase.
    pub(super) fn phase_once_initialized(&self) -> Phase {
        let mut state = self.state();
        while state.phase == Phase::Initializing && !state.requests.is_empty() && state.to_rmcp.is_some() {
            state = self.removed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.phase
    }

    /// Returns whether a request with this id is in progress.
    pub(super) fn holds(&self, id: &str) -> bool {
        let state = self.state();
        !state.requests.is_empty()
            && serde_json::from_str(id).is_ok_and(|id: RequestId| state.requests.contains_key(&id))
    }

    /// Hands a request over to rmcp, or queues it while one with the same id is in progress. Waits while too many
    /// requests are in flight.
    ///
    /// # Errors
    /// -32600 if an open `subscriptions/listen` request uses the id, or if too many such requests are open.
    pub(super) fn insert(&self, accepted: Accepted, next: Option<Phase>) -> Result<(), ErrorData> {
        let mut state = self.state();
        while state.is_full(accepted.size) && state.to_rmcp.is_some() {
            state = self.removed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(next) = next {
            state.phase = next;
        }
        if accepted.listens && state.listening >= MAX_LISTEN_STREAMS {
            let why = format!(
                "Invalid request: a client can have at most {MAX_LISTEN_STREAMS} open subscriptions/listen \
                    requests"
            );
            return Err(ErrorData::invalid_request(why, None));
        }
        if let Some(request) = state.requests.get_mut(&accepted.request.id) {
            if request.listens {
                // `subscriptions/listen` is answered only when the server stops, so a request behind it would never be
                // answered.
                let why = "Invalid request: an open subscriptions/listen request already uses this id";
                return Err(ErrorData::invalid_request(why, None));
            }
            let size = accepted.size;
            request.queued.push_back(accepted);
            state.queued += 1;
            state.bytes += size;
            return Ok(());
        }
        state.bytes += accepted.size;
        state.start(accepted, VecDeque::new());
        Ok(())
    }

    /// Hands a message that has no answer over to rmcp.
    pub(super) fn pass(&self, message: ClientJsonRpcMessage) {
        if let Some(to_rmcp) = &self.state().to_rmcp {
            let _ = to_rmcp.send(message);
        }
    }

    /// Records that rmcp will drop the answer of a request.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut state = self.state();
        if let Some(request) = state.requests.get_mut(id) {
            request.cancelled = true;
            if request.handler_ended {
                self.abandon(&mut state, id);
            }
        }
    }

    /// Waits until every accepted request was answered, at most until `deadline`, and then ends rmcp's input. Later
    /// requests are not accepted.
    pub(crate) fn close(&self, deadline: Option<Instant>) {
        let mut state = self.state();
        while !state.requests.is_empty() {
            let waited = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => break,
                Some(left) => self
                    .removed
                    .wait_timeout(state, left)
                    .map(|(state, _)| state)
                    .unwrap_or_else(|poisoned| poisoned.into_inner().0),
                None => self.removed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state = waited;
        }
        state.to_rmcp = None;
        self.removed.notify_all();
    }

    /// Ends rmcp's input without waiting, because the client accepts no more answers.
    pub(crate) fn close_now(&self) {
        self.state().to_rmcp = None;
        self.removed.notify_all();
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        if self.output.write(&[line]) {
            return Ok(());
        }
        self.close_now();
        Err(io::ErrorKind::BrokenPipe.into())
    }

    /// Ends a request whose answer rmcp drops. Its batch no longer waits for that answer.
    fn abandon(&self, state: &mut State, id: &RequestId) {
        if let Some(Sink::Batch(batch)) = self.remove(state, id)
            && let Some(line) = batch.forget()
        {
            self.output.queue_at_once(line);
        }
    }

    fn remove(&self, state: &mut State, id: &RequestId) -> Option<Sink> {
        let mut request = state.requests.remove(id)?;
        state.bytes -= request.size;
        if request.listens {
            state.listening -= 1;
        }
        if let Some(next) = request.queued.pop_front() {
            state.queued -= 1;
            state.start(next, request.queued);
        }
        self.removed.notify_all();
        Some(request.sink)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether a request of this size has to wait.
    fn is_full(&self, size: usize) -> bool {
        let requests = self.requests.len() - self.listening + self.queued;
        requests >= MAX_REQUESTS || (requests > 0 && self.bytes + size > MAX_BYTES)
    }

    /// Hands a request over to rmcp. If rmcp has ended, the request gets no answer.
    fn start(&mut self, accepted: Accepted, queued: VecDeque<Accepted>) {
        let Some(to_rmcp) = &self.to_rmcp else { return };
        let Accepted { request, size, listens, sink } = accepted;
        let id = request.id.clone();
        if to_rmcp.send(JsonRpcMessage::Request(request)).is_err() {
            return;
        }
        let pending = Pending { sink, size, listens, cancelled: false, handler_ended: false, permit: None, queued };
        self.requests.insert(id, pending);
        self.listening += usize::from(listens);
    }
}
