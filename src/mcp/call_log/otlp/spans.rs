//! Writes calls as spans.

use serde_json::{Value, json};

use super::attributes::{self, borrowed};
use crate::mcp::call_log::line::{Line, Rpc};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::Result;
use mcpkg_base::hex;

/// OTLP's number for a server's span.
const SERVER: u8 = 2;

/// OTLP's number for a span whose operation failed.
const FAILED: u8 = 2;

/// Writes the request that sends the spans of these calls.
pub(super) fn request(resource: &Value, lines: Vec<Line>) -> Result<Vec<u8>> {
    let mut spans = Vec::with_capacity(lines.len());
    for mut line in lines {
        line.redact();
        if let Some(rpc) = &line.rpc {
            spans.push(span(&line, rpc)?);
        }
    }
    let scope = json!({ "scope": scope(), "spans": spans });
    let body = json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [scope] }] });
    Ok(body.to_string().into_bytes())
}

/// Returns the instrumentation scope: the program that made the spans and metrics.
pub(super) fn scope() -> Value {
    json!({ "name": "mcpkg", "version": env!("CARGO_PKG_VERSION") })
}

fn span(line: &Line, rpc: &Rpc) -> Result<Value> {
    let mut random = [0; 24];
    Clock::system().fill(&mut random)?;
    let (own_trace, span) = random.split_at(16);
    let target = attributes::target(line);
    let name = target.map_or_else(|| line.method.clone(), |(_, target)| format!("{} {target}", line.method));
    let parent = rpc.parent.as_ref();
    let mut span = json!({
        "traceId": parent.map_or_else(|| hex::encode(own_trace), |parent| parent.trace.clone()),
        "spanId": hex::encode(span),
        "name": name,
        "kind": SERVER,
        "startTimeUnixNano": nanos(line.time, 0),
        "endTimeUnixNano": nanos(line.time, line.micros),
        "attributes": attributes::json(borrowed(&attributes::of_span(line, rpc))),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.span.clone().into();
        if let Some(state) = &parent.state {
            span["traceState"] = state.clone().into();
        }
    }
    if attributes::error_type(line, rpc).is_some() {
        span["status"] = json!({ "code": FAILED });
    }
    Ok(span)
}

/// Returns the time that is `micros` after `time`, in nanoseconds. It is a string, because OTLP's JSON writes 64-bit
/// numbers as strings.
pub(super) fn nanos(time: Millis, micros: u64) -> String {
    let nanos = i128::from(time) * 1_000_000 + i128::from(micros) * 1_000;
    nanos.max(0).to_string()
}
