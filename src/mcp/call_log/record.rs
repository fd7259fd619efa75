//! Collects the facts about one call while it is answered.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::{Extensions, StatusCode};
use rmcp::ErrorData;

use super::calls::Calls;
use super::line::{Line, Message};
use crate::mcp::Config;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::Code;

/// The facts about one call. When its last owner drops the record, the log and the exporter get its line.
pub(in crate::mcp) struct Record {
    calls: Arc<Calls>,
    started: Instant,
    facts: Mutex<Facts>,
}

struct Facts {
    line: Line,
    /// Whether rmcp answers the call, perhaps after the response to its HTTP request has begun.
    is_forwarded: bool,
    is_skipped: bool,
}

/// The outcome of a call that got no answer, because it was cancelled or its client left.
const CANCELLED: &str = "cancelled";

impl Record {
    /// Begins the record of a call that arrives now, in a request of this many bytes.
    pub(in crate::mcp) fn begin(calls: &Arc<Calls>, from: Option<IpAddr>, bytes_in: u64) -> Arc<Self> {
        let line = Line { time: Clock::system().now(), from, bytes_in, ..Line::default() };
        let facts = Mutex::new(Facts { line, is_forwarded: false, is_skipped: false });
        Arc::new(Self { calls: Arc::clone(calls), started: Instant::now(), facts })
    }

    /// Begins the record of a further call in the same HTTP request.
    pub(in crate::mcp) fn another(&self, bytes_in: u64) -> Arc<Self> {
        Self::begin(&self.calls, self.facts().line.from, bytes_in)
    }

    /// Records a request outside MCP by its HTTP method and path.
    pub(in crate::mcp) fn http(&self, method: &str, path: &str) {
        let line = &mut self.facts().line;
        method.clone_into(&mut line.method);
        line.subject = Some(path.to_owned());
    }

    /// Records what a request of MCP asks for.
    pub(in crate::mcp) fn message(&self, message: Message<'_>, config: &Config) {
        self.facts().line.describe(message, config);
    }

    /// Returns whether the call has this method.
    pub(in crate::mcp) fn is_of(&self, method: &str) -> bool {
        self.facts().line.method == method
    }

    /// Records who asks, once the access is certain.
    pub(in crate::mcp) fn by(&self, config: &Config) {
        self.facts().line.by(config);
    }

    /// Records the person who sent a request to the console.
    pub(in crate::mcp) fn person(&self, name: &str) {
        let line = &mut self.facts().line;
        (line.requester, line.client) = (Some(name.to_owned()), Some("console".to_owned()));
    }

    /// Records that rmcp answers the call.
    pub(in crate::mcp) fn forward(&self) {
        self.facts().is_forwarded = true;
    }

    /// Drops the record without a line, because the request is not a call, or its calls have records of their own.
    pub(in crate::mcp) fn skip(&self) {
        self.facts().is_skipped = true;
    }

    /// Records the size of the answer. The call succeeded unless something else was recorded before.
    pub(in crate::mcp) fn sent(&self, bytes: usize) {
        let mut facts = self.facts();
        facts.line.bytes_out = bytes as u64;
        facts.set("ok", None);
    }

    /// Records the outcome of a tool.
    pub(in crate::mcp) fn ended(&self, outcome: Result<(), Code>) {
        match outcome {
            Ok(()) => self.facts().set("ok", None),
            Err(code) => self.failed(code),
        }
    }

    pub(in crate::mcp) fn failed(&self, code: Code) {
        self.facts().set("error", Some(code.name().into()));
    }

    /// Records an error of JSON-RPC, by its number.
    pub(in crate::mcp) fn refused(&self, error: &ErrorData) {
        let mut facts = self.facts();
        if let Some(rpc) = &mut facts.line.rpc {
            rpc.status.get_or_insert(error.code.0);
        }
        facts.set("error", Some(error.code.0.to_string().into()));
    }

    /// Records that a tool returned an error without a code.
    pub(in crate::mcp) fn failed_somehow(&self) {
        self.facts().set("error", None);
    }

    /// Records the response to an HTTP request: its status, and its size if it is known.
    pub(in crate::mcp) fn responded(&self, status: StatusCode, bytes: Option<u64>) {
        let mut facts = self.facts();
        let is_refused = status.is_client_error() || status.is_server_error();
        if facts.is_forwarded && !is_refused {
            return;
        }
        if facts.line.bytes_out == 0 {
            facts.line.bytes_out = bytes.unwrap_or_default();
        }
        match is_refused {
            true => facts.set("refused", Some(status.as_u16().to_string().into())),
            false => facts.set("ok", None),
        }
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Facts {
    /// Sets the outcome. The first one counts, because it is the most exact.
    fn set(&mut self, outcome: &'static str, code: Option<Cow<'static, str>>) {
        if self.line.outcome.is_empty() {
            (self.line.outcome, self.line.code) = (outcome, code);
        }
    }
}

/// Records who sent an HTTP request, if calls are recorded.
pub(in crate::mcp) fn note_requester(extensions: &Extensions, config: &Config) {
    if let Some(record) = extensions.get::<Arc<Record>>() {
        record.by(config);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let facts = self.facts.get_mut().unwrap_or_else(PoisonError::into_inner);
        if facts.is_skipped {
            return;
        }
        facts.set(CANCELLED, None);
        let mut line = std::mem::take(&mut facts.line);
        line.micros = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.calls.ended(line);
    }
}
