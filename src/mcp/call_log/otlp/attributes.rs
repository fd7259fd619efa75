//! Names the facts about a call by OpenTelemetry's semantic conventions for MCP.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::mcp::call_log::line::{Line, Rpc};
use crate::mcp::methods;

pub(super) type Attributes = Vec<(&'static str, Cow<'static, str>)>;

/// The attribute of the series that counts all calls beyond the maximum number of series.
pub(super) const OVERFLOW: &str = "otel.metric.overflow";

/// The value to use instead of an unknown value.
const OTHER: &str = "_OTHER";

/// Returns the attributes of a call's metric. They contain only names that exist, so a client cannot create series by
/// calling tools that do not exist.
pub(super) fn of_metric(line: &Line, rpc: &Rpc) -> Attributes {
    let method = methods::known(&line.method).unwrap_or(OTHER);
    let exists = rpc.status.is_none() && matches!(line.outcome, "ok" | "error");
    let target = target(line).filter(|_| exists);
    let mut all = vec![("mcp.method.name", Cow::Borrowed(method))];
    all.extend(target.map(|(key, name)| (key, name.to_owned().into())));
    add_common(&mut all, line, rpc);
    all
}

/// Returns the attributes of a call's span.
pub(super) fn of_span(line: &Line, rpc: &Rpc) -> Attributes {
    let mut all = vec![("mcp.method.name", Cow::Owned(line.method.clone()))];
    all.extend(target(line).map(|(key, name)| (key, name.to_owned().into())));
    add_common(&mut all, line, rpc);
    if line.method.starts_with("resources/")
        && let Some(uri) = &line.subject
    {
        all.push(("mcp.resource.uri", uri.clone().into()));
    }
    all.extend(rpc.id.clone().map(|id| ("jsonrpc.request.id", id.into())));
    all.extend(rpc.session.map(|session| ("mcp.session.id", session.to_string().into())));
    all.extend(line.from.map(|from| ("client.address", from.to_string().into())));
    if let Some(code) = line.code.as_ref().filter(|code| code.starts_with("E_")) {
        all.push(("mcpkg.error.code", code.clone()));
    }
    all
}

/// Returns the tool or prompt that a call names, with its attribute.
pub(super) fn target(line: &Line) -> Option<(&'static str, &str)> {
    match line.method.as_str() {
        "tools/call" => Some(("gen_ai.tool.name", line.tool.as_deref()?)),
        "prompts/get" => Some(("gen_ai.prompt.name", line.subject.as_deref()?)),
        _ => None,
    }
}

/// Returns the kind of failure, if the call failed.
pub(super) fn error_type(line: &Line, rpc: &Rpc) -> Option<Cow<'static, str>> {
    match (line.outcome, rpc.status) {
        ("ok", _) => None,
        (_, Some(status)) => Some(status.to_string().into()),
        ("error", None) => Some("tool_error".into()),
        ("refused", None) => Some(line.code.clone().unwrap_or(OTHER.into())),
        (outcome, None) => Some(outcome.into()),
    }
}

fn add_common(all: &mut Attributes, line: &Line, rpc: &Rpc) {
    if line.method == "tools/call" {
        all.push(("gen_ai.operation.name", "execute_tool".into()));
    }
    all.extend(rpc.revision.map(|revision| ("mcp.protocol.version", revision.into())));
    match line.from {
        Some(_) => all.extend([("network.transport", "tcp".into()), ("network.protocol.name", "http".into())]),
        None => all.push(("network.transport", "pipe".into())),
    }
    all.extend(error_type(line, rpc).map(|kind| ("error.type", kind)));
    all.extend(rpc.status.map(|status| ("rpc.response.status_code", status.to_string().into())));
}

/// Writes attributes as OTLP's JSON.
pub(super) fn json<'a>(attributes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let written = attributes.into_iter().map(|(key, value)| match key {
        OVERFLOW => json!({ "key": key, "value": { "boolValue": true } }),
        _ => json!({ "key": key, "value": { "stringValue": value } }),
    });
    written.collect()
}

/// Borrows attributes for [`json`].
pub(super) fn borrowed<K: AsRef<str>, V: AsRef<str>>(attributes: &[(K, V)]) -> impl Iterator<Item = (&str, &str)> {
    attributes.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
}
