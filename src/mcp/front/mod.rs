//! Reads a client's lines in front of rmcp, and answers the most frequent requests itself.
//!
//! The front answers hot requests ([`hot`]) directly from database rows. It also answers requests that rmcp would drop
//! or get wrong. It hands all other lines over to rmcp. Each of its rules works around a problem in rmcp:
//!
//! - The first lifecycle request always goes to rmcp, which would otherwise never finish its start.
//! - A client's reads never overtake its own earlier writes ([`super::tickets::Ticket`]).
//! - A request with an id that is still in flight waits until the earlier request is answered ([`InFlight`]).
//! - rmcp sees the end of input only after every accepted request was answered, unless the client has disconnected or
//!   the server has to stop.

mod envelope;
mod hot;
mod message;
mod meta;
mod read_cache;
mod readers;
mod response;
mod response_cache;

use std::cell::OnceCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{ClientRequest, ErrorData, GetExtensions, JsonRpcMessage};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::call_log::{Message, Record};
use super::era::Era;
use super::error::error_data;
use super::in_flight::{Accepted, InFlight, Phase, Sink};
use super::limits::limited;
use super::methods::{LEGACY_ONLY, no_method, refuse, serves};
use super::reads::Read;
use super::server::Server;
use super::tasks::TaskIds;
use super::tickets::WriteTickets;
use super::tools;
use envelope::Id;
use hot::Answered;
use mcpkg_base::error::Error;
use mcpkg_core::op::Context;
use mcpkg_store::Reader;
use message::{cancelled_id, not_taken, parse};
use response::{begin_result, end_result};
use response_cache::ResponseCache;

pub(super) use envelope::{Envelope, Line, parse as parse_line, parse_item};
pub(super) use hot::{Hot, may_be_hot};
pub(super) use message::{check, check_batch, readable};
pub(super) use meta::{MODERN, Meta, meta};
pub(super) use read_cache::{Presented, ReadCache};
pub(super) use response::{push_error, push_result};
pub(super) use response_cache::CacheKey;

/// Handles the lines of one client. Over stdio, the front runs on the thread that reads standard input.
pub(super) struct Front {
    server: Server,
    reader: Reader,
    in_flight: Arc<InFlight>,
    tickets: Arc<WriteTickets>,
    responses: ResponseCache,
    key: CacheKey,
    /// The context for tool calls, created at the first call.
    context: OnceCell<Context>,
    /// The context for tool calls that may take long, with a short time limit for reads.
    brief: OnceCell<Context>,
    /// Whether any tool call that may take long has taken longer than [`BRIEF`]. From then on, rmcp runs such calls,
    /// concurrently with the client's other requests.
    is_slow: bool,
    /// Answers that are not written yet.
    pub(super) out: Vec<u8>,
    /// The address of the client; `None` over stdio.
    from: Option<IpAddr>,
    /// The record of the request that is being answered, if calls are recorded.
    record: Option<Arc<Record>>,
}

/// A cached result that is larger than this many bytes is written without a copy.
const LARGE: usize = 64 << 10;

/// The time limit for a tool call that may take long. In the front, such a call blocks the client's other requests.
const BRIEF: Duration = Duration::from_millis(5);

/// The capacity in bytes that the answer buffer keeps between answers.
const HELD: usize = 2 << 20;

impl Front {
    pub(super) fn new(server: Server, reader: Reader, in_flight: Arc<InFlight>) -> Self {
        Self {
            server,
            reader,
            in_flight,
            tickets: Arc::default(),
            responses: ResponseCache::default(),
            key: CacheKey::default(),
            context: OnceCell::new(),
            brief: OnceCell::new(),
            is_slow: false,
            out: Vec::new(),
            from: None,
            record: None,
        }
    }

    /// Creates a front for one of many clients, with a smaller cache.
    pub(super) fn slim(server: Server, reader: Reader, in_flight: Arc<InFlight>, from: IpAddr) -> Self {
        Self { responses: ResponseCache::slim(), from: Some(from), ..Self::new(server, reader, in_flight) }
    }

    /// Handles one line, given without its line end. The answer is appended to `out`, or comes from rmcp later.
    pub(super) fn line(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        match envelope::parse(line) {
            Line::Blank => {}
            Line::One(envelope) => self.message(envelope, &Sink::Wire),
            Line::Batch(items) => self.batch(&items),
            Line::Unreadable(why) => self.error(Id::Null, &ErrorData::parse_error(why, None), &Sink::Wire),
        }
    }

    /// Answers a line that was longer than the limit. Only its beginning, `head`, was kept.
    pub(super) fn too_long(&mut self, head: &[u8], limit: usize) {
        let id = envelope::find_id(head);
        let why = format!("Invalid request: the line is longer than {limit} bytes");
        let id = id.as_deref().map_or(Id::Null, Id::Known);
        self.error(id, &ErrorData::invalid_request(why, None), &Sink::Wire);
    }

    /// Handles a batch, which is answered as an array.
    fn batch(&mut self, items: &[&str]) {
        self.write_out();
        let exist = self.in_flight.phase_once_initialized() == (Phase::Legacy { batches: true });
        if let Err(error) = check_batch(items.len(), exist) {
            return self.error(Id::Null, &error, &Sink::Wire);
        }
        let expected = items.iter().filter(|item| parse_item(item).wants_answer()).count();
        let sink = Sink::batch(expected);
        for item in items {
            self.message(parse_item(item), &sink);
        }
    }

    fn message(&mut self, envelope: Envelope<'_>, sink: &Sink) {
        match envelope {
            Envelope::Request { id, method, parameters, text } => {
                let recorded = match self.server.calls.is_some() {
                    true => self.record(id, &method, parameters, text),
                    false => Ok(()),
                };
                let answered = recorded.and_then(|()| self.request(id, &method, parameters, text, sink));
                if let Err(error) = answered {
                    self.error(Id::Known(id), &error, sink);
                }
                self.record = None;
            }
            Envelope::Notification { method, parameters, text } => self.notification(&method, parameters, text),
            Envelope::Response { text } => {
                if self.in_flight.phase().started()
                    && let Ok(message) = parse(text)
                {
                    self.in_flight.pass(message);
                }
            }
            Envelope::Invalid { id, why } => self.error(id, &ErrorData::invalid_request(why, None), sink),
        }
    }

    /// Begins the record of a request. A ping is not a call.
    fn record(&mut self, id: &str, method: &str, parameters: Option<&RawValue>, text: &str) -> Result<(), ErrorData> {
        let Some(calls) = self.server.calls.as_ref().filter(|_| method != "ping") else { return Ok(()) };
        let record = Record::begin(calls, self.from, 0);
        let (bytes, revision) = (text.len(), self.server.revision());
        record.message(Message { id, method, parameters, bytes, session: None, revision }, &self.server.config);
        record.by(&self.server.config);
        self.record = Some(record);
        calls.admit().map_err(|error| self.failed(&error))
    }

    /// Converts an error, and records its code.
    fn failed(&self, error: &Error) -> ErrorData {
        if let Some(record) = &self.record {
            record.failed(error.code());
        }
        error_data(error)
    }

    fn request(
        &mut self,
        id: &str,
        method: &str,
        parameters: Option<&RawValue>,
        text: &str,
        sink: &Sink,
    ) -> Result<(), ErrorData> {
        self.server.keep_up();
        let phase = self.in_flight.phase();
        let meta = meta(parameters);
        match (phase, meta) {
            (Phase::Starting, Meta::Plain) if !matches!(method, "initialize" | "ping" | "server/discover") => {
                let why = format!("Invalid request: '{method}' was sent before initialize");
                return Err(ErrorData::invalid_request(why, None));
            }
            (Phase::Initializing | Phase::Legacy { .. }, _) if method == "initialize" => {
                let why = "Invalid request: this session is already initialized";
                return Err(ErrorData::invalid_request(why, None));
            }
            _ => {}
        }
        if phase != Phase::Starting && !serves(self.server.config.identity, method) {
            return Err(no_method(method));
        }
        let era = match (phase, meta) {
            (Phase::Legacy { .. }, Meta::Plain) => Some(Era::Legacy),
            (Phase::Legacy { .. } | Phase::Inline, Meta::Modern) => Some(Era::Modern),
            _ => None,
        };
        if let Some(era) = era
            && self.server.config.front
            && !self.in_flight.holds(id)
        {
            if method == "ping" && era == Era::Legacy && parameters.is_none_or(|raw| raw.get() == "{}") {
                let start = self.out.len();
                push_result(&mut self.out, id, b"{}");
                self.deliver(start, sink);
                return Ok(());
            }
            if may_be_hot(method)
                && self.tickets.idle()
                && !self.server.config.providers.takes(method, parameters)
                && self.answer(id, method, parameters, era, sink)?
            {
                return Ok(());
            }
        }
        // Invalid parameters of a read get the same error whether the front or rmcp would answer.
        if era.is_some() && Read::is_hot(method) && !self.server.config.providers.takes(method, parameters) {
            Read::parse(method, parameters).map_err(|error| self.failed(&error))?;
        }
        self.hand_over(method, parameters, meta, text, sink)
    }

    /// Answers a request if it is hot. Returns whether the request was answered.
    fn answer(
        &mut self,
        id: &str,
        method: &str,
        parameters: Option<&RawValue>,
        era: Era,
        sink: &Sink,
    ) -> Result<bool, ErrorData> {
        if let Some(raw) = parameters {
            envelope::check_depth(raw.get()).map_err(|why| ErrorData::parse_error(why, None))?;
        }
        self.key.set(&self.server.config, era, method, parameters.map_or("", RawValue::get), None);
        let again = self.responses.is_asked_again(&self.key);
        let start = self.out.len();
        if !again {
            begin_result(&mut self.out, id);
            return match self.read(method, parameters, era) {
                Ok(Answered::Not) => {
                    self.out.truncate(start);
                    Ok(false)
                }
                Ok(_) => {
                    end_result(&mut self.out);
                    self.deliver(start, sink);
                    Ok(true)
                }
                Err(error) => {
                    self.out.truncate(start);
                    Err(self.failed(&error))
                }
            };
        }
        match self.reader.version() {
            Ok(version) => self.key.at(version),
            // rmcp's handler converts a tool's failure to a result.
            Err(_) if method == "tools/call" => return Ok(false),
            Err(error) => return Err(self.failed(&error)),
        }
        let result = match self.responses.get(&self.key) {
            Some(kept) => {
                if method == "tools/call" {
                    tools::log_again(parameters, &self.server.config, || self.context());
                }
                kept
            }
            None => {
                let before = std::mem::take(&mut self.out);
                let answered = self.read(method, parameters, era);
                let result = Arc::new(std::mem::replace(&mut self.out, before));
                match answered.map_err(|error| self.failed(&error))? {
                    Answered::Not => return Ok(false),
                    Answered::Once(_) => {}
                    Answered::Lasting => self.responses.insert(&self.key, &result),
                }
                result
            }
        };
        if matches!(sink, Sink::Wire) && result.len() > LARGE {
            // Write the result without copying it first: a copy would cost as much as the write.
            begin_result(&mut self.out, id);
            if let Some(record) = &self.record {
                record.sent(self.out.len() + result.len());
            }
            self.in_flight.output().write(&[&self.out, &result, b"}\n"]);
            self.out.clear();
            return Ok(true);
        }
        push_result(&mut self.out, id, &result);
        self.deliver(start, sink);
        Ok(true)
    }

    /// Reads the data for a hot request and appends the result to `out`.
    fn read(&mut self, method: &str, parameters: Option<&RawValue>, era: Era) -> mcpkg_base::error::Result<Answered> {
        let config = Arc::clone(&self.server.config);
        let Some(hot) = Hot::parse(method, parameters, &config)? else { return Ok(Answered::Not) };
        let began = hot.may_be_long().then(Instant::now);
        if began.is_some() && self.is_slow {
            return Ok(Answered::Not);
        }
        let mut out = std::mem::take(&mut self.out);
        let context = || if began.is_some() { self.brief() } else { self.context() };
        let answered = hot.answer(&self.reader, context, &config, era, &mut out);
        self.out = out;
        self.is_slow |= began.is_some_and(|began| began.elapsed() > BRIEF);
        if let (Some(record), Ok(Answered::Once(code))) = (&self.record, &answered) {
            record.failed(*code);
        }
        answered
    }

    /// Returns the context for tool calls.
    fn context(&self) -> &Context {
        self.context.get_or_init(|| {
            let config = &self.server.config;
            tools::context(limited(&self.server.store, config, CancellationToken::new()), config, None)
        })
    }

    /// Returns the context for tool calls that may take long, with a short time limit for reads.
    fn brief(&self) -> &Context {
        self.brief.get_or_init(|| {
            let Server { store, config, .. } = &self.server;
            let limit = config.read_timeout.min(BRIEF);
            tools::context(store.limited(limit, CancellationToken::new()), config, None)
        })
    }

    fn hand_over(
        &mut self,
        method: &str,
        parameters: Option<&RawValue>,
        meta: Meta,
        text: &str,
        sink: &Sink,
    ) -> Result<(), ErrorData> {
        if meta == Meta::Modern && method != "initialize" && LEGACY_ONLY.contains(&method) {
            return Err(no_method(method));
        }
        check(method, parameters)?;
        let parsed = parse(text).map_err(|error| not_taken(&error))?;
        let JsonRpcMessage::Request(mut request) = parsed else {
            return Err(refuse(method, None));
        };
        if let ClientRequest::CustomRequest(custom) = &request.request {
            return Err(refuse(method, custom.params.as_ref()));
        }
        let next = match (self.in_flight.phase(), meta) {
            (Phase::Starting, _) if method == "initialize" => Some(Phase::Initializing),
            (Phase::Inline, _) if method == "initialize" => Some(Phase::Initializing),
            (Phase::Starting, Meta::Modern) if !matches!(method, "server/discover" | "ping") => Some(Phase::Inline),
            _ => None,
        };
        let writes = match &request.request {
            ClientRequest::CallToolRequest(call) => tools::may_write(&call.params.name, &self.server.config),
            _ => false,
        };
        let ticket = self.tickets.next(writes);
        let extensions = request.request.extensions_mut();
        extensions.insert(ticket);
        if let Some(record) = &self.record {
            extensions.insert(Arc::clone(record));
        }
        let listens = method == "subscriptions/listen";
        if listens {
            extensions.insert(TaskIds::of(parameters));
            extensions.insert(self.server.hub.since());
            if let Some(record) = &self.record {
                record.sent(0);
            }
        }
        self.write_out();
        self.in_flight.insert(Accepted { request, size: text.len(), listens, sink: sink.clone() }, next)
    }

    fn notification(&mut self, method: &str, parameters: Option<&RawValue>, text: &str) {
        if !self.in_flight.phase().started() {
            return;
        }
        if method == "notifications/cancelled"
            && let Some(id) = parameters.and_then(|raw| cancelled_id(raw.get()))
        {
            self.in_flight.cancel(&id);
        }
        // A notification gets no answer, even if it cannot be read.
        if let Ok(message) = parse(text) {
            self.in_flight.pass(message);
        }
    }

    fn error(&mut self, id: Id<'_>, error: &ErrorData, sink: &Sink) {
        let start = self.out.len();
        push_error(&mut self.out, id.known(), error);
        if let Some(record) = &self.record {
            record.refused(error);
        }
        self.deliver(start, sink);
    }

    /// Delivers the answer that begins at `start` in `out`. The answer to a message of a batch moves into the batch.
    /// Any other answer stays in `out` until `out` is written.
    fn deliver(&mut self, start: usize, sink: &Sink) {
        if let Some(record) = &self.record {
            record.sent(self.out.len() - start);
        }
        if let Sink::Batch(batch) = sink {
            let reply = self.out.split_off(start);
            if let Some(line) = batch.add(reply) {
                self.out.extend_from_slice(&line);
            }
        }
    }

    /// Writes the pending answers. Returns whether the client still accepts them.
    pub(super) fn write_out(&mut self) -> bool {
        if self.out.is_empty() {
            return self.in_flight.output().is_open();
        }
        let taken = self.in_flight.output().write(&[&self.out]);
        self.out.clear();
        // Frees the memory of a large answer, which would otherwise stay allocated for the rest of the session.
        if self.out.capacity() > HELD {
            self.out = Vec::new();
        }
        taken
    }
}
