//! Answers quick tool calls that only read, before they reach rmcp, and writes their results directly as JSON.

use std::borrow::{Borrow, Cow};
use std::time::Instant;

use rmcp::ErrorData;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::audit;
use super::call::{ResultForm, item, result};
use crate::mcp::Config;
use crate::mcp::era::Era;
use crate::mcp::error::smctl_error;
use crate::mcp::hints::Reader;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::json::{push_escaped, push_string};
use mcpkg_core::op::{Body, Call, Connection, Context, Entry, Identity, Reply, Shape};
use mcpkg_core::present;

/// A call that its operation declares hot ([`Call::is_hot`]).
pub(in crate::mcp) struct HotCall {
    entry: &'static Entry,
    call: Call,
    logged: audit::Call,
}

/// The parameters of tools/call that are needed here.
#[derive(Deserialize)]
struct Parameters<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl HotCall {
    /// Parses a call. Returns `None` if it is not hot or if anything is wrong with it.
    pub(in crate::mcp) fn parse(parameters: Option<&RawValue>, config: &Config) -> Option<Self> {
        let parameters: Parameters<'_> = serde_json::from_str(parameters?.get()).ok()?;
        let entry = super::operation(&parameters.name, config)?;
        // rmcp's handler runs the calls that are not answered here: calls that write, and calls of workspace tools
        // (`Shape::Rpc`), which report failures in their own form. Over a network, it also runs tools with a rate
        // limit, and tools that each requester may run only once at a time. Over stdio there is only one client, whose
        // calls run here one by one.
        let is_counted = (entry.rate.is_some() || entry.one_at_a_time) && config.connection == Connection::Network;
        if !entry.effect.reads() || entry.shape == Shape::Rpc || is_counted {
            return None;
        }
        let arguments: Map<String, Value> = match parameters.arguments {
            Some(raw) => serde_json::from_str(raw.get()).ok()?,
            None => Map::new(),
        };
        let logged = audit::Call::of(entry, &arguments, config.identity);
        let call = entry.from_agent(Value::Object(arguments)).ok()?;
        call.is_hot().then_some(Self { entry, call, logged })
    }

    pub(in crate::mcp) fn name(&self) -> &'static str {
        self.entry.tool
    }

    /// Returns whether the call may take long in a large database. Such a call has a short time limit here. If it
    /// exceeds the limit, rmcp's handler runs it again.
    pub(in crate::mcp) fn may_be_long(&self) -> bool {
        self.entry.one_at_a_time
    }

    /// Runs the call and appends its result. Returns the code of a failure, whose result must not be cached. Returns
    /// `None` if rmcp's handler has to run the call, because it has warnings to log to the client or exceeded the time
    /// limit.
    pub(in crate::mcp) fn answer(self, context: &Context, era: Era, out: &mut Vec<u8>) -> Option<Result<(), Code>> {
        let started = Instant::now();
        let command = self.call.command().to_owned();
        let reader = Reader { failed: Some(self.entry), surface: &context.surface };
        let outcome = self.call.run(context).map_err(|error| reader.error(error));
        let is_left = match &outcome {
            Ok(reply) => !reply.warnings.is_empty(),
            Err(error) => self.entry.one_at_a_time && error.code() == Code::Timeout,
        };
        if is_left {
            return None;
        }
        self.logged.log(self.entry.tool, context, &outcome, started);
        let ended = outcome.as_ref().map(|_| ()).map_err(Error::code);
        push(self.entry, &command, outcome, era, out);
        Some(ended)
    }
}

/// Returns the operation that the parameters of tools/call name.
pub(in crate::mcp) fn named(parameters: Option<&RawValue>, config: &Config) -> Option<&'static Entry> {
    let parameters: Parameters<'_> = serde_json::from_str(parameters?.get()).ok()?;
    super::operation(&parameters.name, config)
}

/// Appends the result of a call that failed before its operation ran.
///
/// # Errors
/// A failure of a workspace tool (contract 003), which is a JSON-RPC error in the revisions with a handshake.
pub(in crate::mcp) fn push_failed(
    entry: &'static Entry,
    error: Error,
    era: Era,
    out: &mut Vec<u8>,
) -> std::result::Result<(), ErrorData> {
    if entry.shape == Shape::Rpc && era == Era::Legacy {
        return Err(smctl_error(&error));
    }
    push(entry, &entry.cli.join(" "), Err(error), era, out);
    Ok(())
}

/// Logs a call that was answered from the cache.
pub(in crate::mcp) fn log_again<C: Borrow<Context>>(
    parameters: Option<&RawValue>,
    config: &Config,
    context: impl FnOnce() -> C,
) {
    if !audit::is_logged(config.identity == Identity::Assistant) {
        return;
    }
    let started = Instant::now();
    let Some(parameters) = parameters.and_then(|raw| serde_json::from_str::<Parameters<'_>>(raw.get()).ok()) else {
        return;
    };
    if let Some(entry) = super::operation(&parameters.name, config) {
        let arguments = parameters.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let again = Ok(Reply::new(Body::Text(String::new()), Value::Null));
        audit::Call::of(entry, &arguments, config.identity).log(entry.tool, context().borrow(), &again, started);
    }
}

/// Appends the same JSON as [`result`] builds, but faster: text is written to the output without a copy, and an object
/// that occurs twice is formatted only once.
fn push(entry: &'static Entry, command: &str, outcome: Result<Reply>, era: Era, out: &mut Vec<u8>) {
    let reply = match outcome {
        Ok(reply) if entry.shape == Shape::Sentence && !matches!(reply.body, Body::Media(_)) => reply,
        Ok(reply) if matches!(entry.shape, Shape::Json(_)) => {
            let object = present::text(entry.shape, command, &reply);
            out.reserve(2 * object.len() + object.len() / 4 + 256);
            push_text(&object, era, out);
            out.extend_from_slice(b",\"structuredContent\":");
            out.extend_from_slice(object.as_bytes());
            out.push(b'}');
            return;
        }
        outcome => {
            let mut result = result(&ResultForm::from(entry), command, outcome);
            if era == Era::Legacy {
                result.result_type = None;
            }
            // Writing to memory does not fail, and all keys are strings.
            let _ = serde_json::to_writer(out, &result);
            return;
        }
    };
    let present::Content::Text(text) = present::content(reply.body) else { return };
    out.reserve(text.len() + text.len() / 16 + 256);
    push_text(&text, era, out);
    if entry.structured {
        out.extend_from_slice(b",\"structuredContent\":");
        match &reply.json {
            Some(json) => out.extend_from_slice(json.as_bytes()),
            None => drop(serde_json::to_writer(&mut *out, &reply.data)),
        }
    } else if entry.content
        && let Some(item) = item(reply.data)
    {
        out.extend_from_slice(b",\"_meta\":{");
        for (key, value) in &item.0 {
            push_string(out, key);
            out.push(b':');
            let _ = serde_json::to_writer(&mut *out, value);
        }
        out.push(b'}');
    }
    out.push(b'}');
}

/// Appends the beginning of a successful result, with its text.
fn push_text(text: &str, era: Era, out: &mut Vec<u8>) {
    era.open(out);
    out.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":\"");
    push_escaped(out, text.as_bytes());
    out.extend_from_slice(b"\"}],\"isError\":false");
}
