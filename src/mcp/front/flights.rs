//! The requests that rmcp has: who waits for which answer, and when all were answered.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetExtensions, JsonRpcMessage, JsonRpcRequest, ProtocolVersion,
    RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::mcp::transport::output::Output;

/// Requests that may be under way at once, those that wait for their id too; then the input waits. Listen streams do not
/// count, they stay open.
const MOST: usize = 256;

/// Bytes of these requests, but for one that is larger alone.
const MOST_BYTES: usize = 64 << 20;

/// Listen streams that a client may have open.
const MOST_LISTENING: usize = 64;

/// Handlers that may run, or whose answers may wait for the client, at once: what a client does not read stays small.
const SEATS: usize = 8;

/// Where an answer goes.
#[derive(Clone)]
pub(crate) enum Sink {
    /// A line of its own.
    Wire,
    /// An element of a batch's answer.
    Batch(Arc<Batch>),
}

impl Sink {
    /// Returns the sink of a batch with so many answers.
    pub(super) fn batch(expected: usize) -> Self {
        Sink::Batch(Arc::new(Batch(Mutex::new(Replies { expected, there: Vec::new() }))))
    }
}

/// The answers of a batch, until all are there.
pub(crate) struct Batch(Mutex<Replies>);

struct Replies {
    expected: usize,
    there: Vec<Vec<u8>>,
}

impl Batch {
    /// Adds an answer; returns the whole line once all are there.
    pub(super) fn add(&self, reply: Vec<u8>) -> Option<Vec<u8>> {
        let mut replies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replies.there.push(reply);
        replies.line()
    }

    /// Expects one answer less; returns the whole line where the others are there.
    fn forget(&self) -> Option<Vec<u8>> {
        let mut replies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replies.expected -= 1;
        replies.line()
    }
}

impl Replies {
    fn line(&self) -> Option<Vec<u8>> {
        if self.there.is_empty() || self.there.len() < self.expected {
            return None;
        }
        let mut line = vec![b'['];
        for (index, reply) in self.there.iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            line.extend_from_slice(reply.trim_ascii_end());
        }
        line.extend_from_slice(b"]\n");
        Some(line)
    }
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// rmcp waits for the first lifecycle request.
    Starting,
    /// initialize went to rmcp and was not answered yet.
    Initializing,
    /// A session with a handshake.
    Legacy {
        /// Whether its revision has batches.
        batches: bool,
    },
    /// Requests that carry their own metadata (2026-07-28).
    Inline,
}

impl Phase {
    /// Whether rmcp takes notifications and responses.
    pub(super) fn started(self) -> bool {
        self != Phase::Starting
    }
}

/// The requests under way and the way to rmcp; shared by the front, the transport and who ends the server.
pub(crate) struct Flights {
    state: Mutex<State>,
    landed: Condvar,
    seats: Arc<Semaphore>,
    output: Arc<Output>,
}

struct State {
    phase: Phase,
    flights: HashMap<RequestId, Flight>,
    listening: usize,
    /// Requests that wait for one with their id.
    held: usize,
    /// Bytes of the requests that are under way or held.
    bytes: usize,
    /// Gone once the input has ended.
    to_rmcp: Option<mpsc::UnboundedSender<ClientJsonRpcMessage>>,
}

/// A request on its way to rmcp.
pub(super) struct Departing {
    pub(super) request: JsonRpcRequest<ClientRequest>,
    /// Bytes of the line it came in.
    pub(super) size: usize,
    /// Whether it opens a listen stream.
    pub(super) listens: bool,
    pub(super) sink: Sink,
}

struct Flight {
    sink: Sink,
    size: usize,
    listens: bool,
    cancelled: bool,
    handler_ended: bool,
    /// From the handler's begin to the answer's end.
    seat: Option<OwnedSemaphorePermit>,
    /// Requests with the same id that came meanwhile.
    held: VecDeque<Departing>,
}

/// Says that a request's handler has ended; travels with the request.
pub(crate) struct Passenger {
    flights: Arc<Flights>,
    id: RequestId,
}

impl Passenger {
    /// Waits until few enough answers wait for the client. Only what waits for nothing else may take a seat.
    pub(crate) async fn board(&self) {
        let seat = Arc::clone(&self.flights.seats).acquire_owned().await.ok();
        if let Some(flight) = self.flights.state().flights.get_mut(&self.id) {
            flight.seat = seat;
        }
    }
}

impl Drop for Passenger {
    fn drop(&mut self) {
        let mut state = self.flights.state();
        if let Some(flight) = state.flights.get_mut(&self.id) {
            flight.handler_ended = true;
            if flight.cancelled {
                self.flights.lose(&mut state, &self.id);
            }
        }
    }
}

impl Flights {
    /// Returns the table, and the transport that rmcp is served on.
    pub(crate) fn new(output: Arc<Output>) -> (Arc<Self>, RmcpTransport) {
        let (to_rmcp, from_front) = mpsc::unbounded_channel();
        let state = State {
            phase: Phase::Starting,
            flights: HashMap::new(),
            listening: 0,
            held: 0,
            bytes: 0,
            to_rmcp: Some(to_rmcp),
        };
        let flights = Arc::new(Self {
            state: Mutex::new(state),
            landed: Condvar::new(),
            seats: Arc::new(Semaphore::new(SEATS)),
            output,
        });
        (Arc::clone(&flights), RmcpTransport { flights, from_front })
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// How far the session is.
    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// How far the session is, once initialize was answered: a client that has read the answer can be quicker than
    /// whoever sent it.
    pub(super) fn settled_phase(&self) -> Phase {
        let mut state = self.state();
        while state.phase == Phase::Initializing && !state.flights.is_empty() && state.to_rmcp.is_some() {
            state = self.landed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.phase
    }

    /// Whether a request with this id is under way.
    pub(super) fn holds(&self, id: &str) -> bool {
        let state = self.state();
        !state.flights.is_empty() && serde_json::from_str(id).is_ok_and(|id: RequestId| state.flights.contains_key(&id))
    }

    /// Hands a request to rmcp, or holds it while one with its id is under way. Waits while there are too many.
    ///
    /// # Errors
    /// -32600 where a listen stream has the id, or where it is one listen stream too many.
    pub(super) fn depart(self: &Arc<Self>, mut departing: Departing, next: Option<Phase>) -> Result<(), ErrorData> {
        let id = departing.request.id.clone();
        let passenger = Passenger { flights: Arc::clone(self), id: id.clone() };
        departing.request.request.extensions_mut().insert(Arc::new(passenger));
        let mut state = self.state();
        while state.is_full(departing.size) && state.to_rmcp.is_some() {
            state = self.landed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(next) = next {
            state.phase = next;
        }
        if departing.listens && state.listening >= MOST_LISTENING {
            let why = format!("Invalid request: a client may have {MOST_LISTENING} subscriptions/listen open at once");
            return Err(ErrorData::invalid_request(why, None));
        }
        if let Some(flight) = state.flights.get_mut(&id) {
            if flight.listens {
                // Its answer comes when the server ends; behind it nothing would ever be answered.
                let why = "Invalid request: the id is that of an open subscriptions/listen";
                return Err(ErrorData::invalid_request(why, None));
            }
            let size = departing.size;
            flight.held.push_back(departing);
            state.held += 1;
            state.bytes += size;
            return Ok(());
        }
        state.bytes += departing.size;
        state.take_off(departing, VecDeque::new());
        Ok(())
    }

    /// Hands rmcp a message that nobody waits for.
    pub(super) fn pass(&self, message: ClientJsonRpcMessage) {
        if let Some(to_rmcp) = &self.state().to_rmcp {
            let _ = to_rmcp.send(message);
        }
    }

    /// Notes that rmcp will drop the answer of a request.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut state = self.state();
        if let Some(flight) = state.flights.get_mut(id) {
            flight.cancelled = true;
            if flight.handler_ended {
                self.lose(&mut state, id);
            }
        }
    }

    /// Waits until every accepted request was answered, at most until `deadline`, and tells rmcp that the input has
    /// ended. What comes later is not accepted.
    pub(crate) fn close(&self, deadline: Option<Instant>) {
        let mut state = self.state();
        while !state.flights.is_empty() {
            let waited = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => break,
                Some(left) => self
                    .landed
                    .wait_timeout(state, left)
                    .map(|(state, _)| state)
                    .unwrap_or_else(|poisoned| poisoned.into_inner().0),
                None => self.landed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state = waited;
        }
        state.to_rmcp = None;
        self.landed.notify_all();
    }

    /// Ends without waiting: nobody takes the answers any more.
    pub(crate) fn abandon(&self) {
        self.state().to_rmcp = None;
        self.landed.notify_all();
    }

    /// Writes a line at once.
    fn write(&self, line: &[u8]) -> io::Result<()> {
        if self.output.write(&[line]) {
            return Ok(());
        }
        self.abandon();
        Err(io::ErrorKind::BrokenPipe.into())
    }

    /// Ends a flight whose answer rmcp drops; its batch waits for the others only.
    fn lose(&self, state: &mut State, id: &RequestId) {
        if let Some(Sink::Batch(batch)) = self.land(state, id)
            && let Some(line) = batch.forget()
        {
            self.output.queue_at_once(line);
        }
    }

    fn land(&self, state: &mut State, id: &RequestId) -> Option<Sink> {
        let mut flight = state.flights.remove(id)?;
        state.bytes -= flight.size;
        if flight.listens {
            state.listening -= 1;
        }
        if let Some(next) = flight.held.pop_front() {
            state.held -= 1;
            state.take_off(next, flight.held);
        }
        self.landed.notify_all();
        Some(flight.sink)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a request of so many bytes has to wait.
    fn is_full(&self, size: usize) -> bool {
        let requests = self.flights.len() - self.listening + self.held;
        requests >= MOST || (requests > 0 && self.bytes + size > MOST_BYTES)
    }

    fn take_off(&mut self, departing: Departing, held: VecDeque<Departing>) {
        let Some(to_rmcp) = &self.to_rmcp else { return };
        let Departing { request, size, listens, sink } = departing;
        let flight = Flight { sink, size, listens, cancelled: false, handler_ended: false, seat: None, held };
        self.flights.insert(request.id.clone(), flight);
        self.listening += usize::from(listens);
        let _ = to_rmcp.send(JsonRpcMessage::Request(request));
    }
}

/// The side of the front that rmcp sees.
pub(crate) struct RmcpTransport {
    flights: Arc<Flights>,
    from_front: mpsc::UnboundedReceiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for RmcpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let flights = Arc::clone(&self.flights);
        let encoded = encode(&item);
        async move {
            let mut line = encoded?;
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let batches = match &item {
                JsonRpcMessage::Response(response) => match &response.result {
                    ServerResult::InitializeResult(result) => {
                        Some(result.protocol_version == ProtocolVersion::V_2025_03_26)
                    }
                    _ => None,
                },
                _ => None,
            };
            drop(item);
            line.push(b'\n');
            let sink =
                answered.as_ref().and_then(|id| flights.state().flights.get(id).map(|flight| flight.sink.clone()));
            let line = match sink {
                Some(Sink::Batch(batch)) => batch.add(line),
                _ => Some(line),
            };
            let sent = match line {
                // A session begins with this: no answer of the front may come before it, so it is not only queued.
                Some(line) if batches.is_some() => flights.write(&line),
                Some(line) => flights.output.queue(line).await,
                None => Ok(()),
            };
            // Only now was the request answered: what waits for that must not come before the answer.
            if let Some(id) = answered {
                let mut state = flights.state();
                if let Some(batches) = batches {
                    state.phase = Phase::Legacy { batches };
                }
                flights.land(&mut state, &id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.from_front.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.from_front.close();
        Ok(())
    }
}

/// An object in one buffer of about the right size: a large answer would double its time by growing one.
fn encode(item: &TxJsonRpcMessage<RoleServer>) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(1024);
    serde_json::to_writer(&mut line, item)?;
    Ok(line)
}
