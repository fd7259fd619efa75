//! Defines the lines of the audit log, and which facts about a request they contain. Spans and metrics contain the same
//! facts, and some more about the protocol.

use std::borrow::Cow;
use std::net::IpAddr;

use rmcp::model::ProtocolVersion;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::trace::Parent;
use crate::mcp::{Config, tools};
use mcpkg_base::clock::{Millis, rfc3339_millis};
use mcpkg_base::redact::redacted;
use mcpkg_store::projects::Selection;

/// The maximum size in bytes of a text that a client chose.
const LONGEST: usize = 500;

/// A line of the audit log. It contains names and sizes, but neither arguments nor contents.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Line {
    #[serde(serialize_with = "as_time")]
    pub(super) time: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requester: Option<String>,
    /// The address of the client, over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<IpAddr>,
    /// The name that the client gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
    pub(super) method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<String>,
    pub(super) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<Cow<'static, str>>,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) micros: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trace: Option<String>,
    /// How to find the project if the request does not name one. The thread that writes the log looks up the project's
    /// name.
    #[serde(skip)]
    pub(super) selection: Option<Selection>,
    /// The facts about an MCP request that only spans and metrics contain. `None` for other requests over HTTP.
    #[serde(skip)]
    pub(super) rpc: Option<Rpc>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rpc {
    pub(super) id: Option<String>,
    pub(super) session: Option<Uuid>,
    pub(super) revision: Option<&'static str>,
    pub(super) parent: Option<Parent>,
    /// The error code of the JSON-RPC response.
    pub(super) status: Option<i32>,
}

/// An MCP request, as it arrives.
#[derive(Clone, Copy)]
pub(in crate::mcp) struct Message<'a> {
    /// The id, exactly as in the request.
    pub(in crate::mcp) id: &'a str,
    pub(in crate::mcp) method: &'a str,
    pub(in crate::mcp) parameters: Option<&'a RawValue>,
    pub(in crate::mcp) bytes: usize,
    /// The id of the session, over streamable HTTP.
    pub(in crate::mcp) session: Option<&'a str>,
    /// The protocol revision, if the request itself does not name one.
    pub(in crate::mcp) revision: Option<&'a str>,
}

/// The parameters that say what a call is about. The others are not parsed.
#[derive(Default, Deserialize)]
struct Parameters<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    reference: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "protocolVersion")]
    revision: Option<&'a RawValue>,
}

/// The arguments by which mcpkg's own tools name an item.
#[derive(Default, Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    workflow: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<&'a RawValue>,
}

impl Line {
    /// Fills in what the request asks for.
    pub(super) fn describe(&mut self, message: Message<'_>, config: &Config) {
        let method = message.method;
        method[..method.floor_char_boundary(LONGEST)].clone_into(&mut self.method);
        self.bytes_in = message.bytes as u64;
        let parameters: Parameters<'_> = parsed(message.parameters);
        let meta: Meta<'_> = parsed(parameters.meta);
        let state = meta.tracestate.and_then(whole);
        let parent = meta.traceparent.and_then(text).and_then(|text| Parent::parse(&text, state.as_deref()));
        self.trace = parent.as_ref().map(|parent| parent.trace.clone());
        let named = meta.revision.or(parameters.revision).and_then(text);
        self.rpc = Some(Rpc {
            id: id(message.id),
            session: message.session.and_then(|id| Uuid::parse_str(id).ok()),
            revision: named.as_deref().or(message.revision).and_then(known),
            parent,
            status: None,
        });
        let client: Named<'_> = parsed(parameters.client.or(meta.client));
        self.client = client.name.and_then(text);
        self.subject = match method {
            "tools/call" => {
                self.tool = parameters.name.and_then(text);
                // The arguments of installed tools may mean anything.
                let is_own = self.tool.as_deref().is_some_and(|tool| tools::operation(tool, config).is_some());
                is_own.then(|| parsed::<Named<'_>>(parameters.arguments).text()).flatten()
            }
            "initialize" => None,
            "completion/complete" => parsed::<Named<'_>>(parameters.reference).text(),
            _ => parameters.uri.or(parameters.name).and_then(text),
        };
    }

    /// Fills in who asks, and for which project.
    pub(super) fn by(&mut self, config: &Config) {
        self.requester = Some(config.requester());
        self.project.clone_from(&config.selection.named);
        self.selection = config.selection.named.is_none().then(|| config.selection.clone());
    }

    /// Redacts secrets in the texts that the client chose.
    pub(super) fn redact(&mut self) {
        let texts = [&mut self.client, &mut self.project, &mut self.tool, &mut self.subject];
        let id = self.rpc.as_mut().and_then(|rpc| rpc.id.as_mut());
        for text in texts.into_iter().flatten().chain([&mut self.method]).chain(id) {
            if let Cow::Owned(hidden) = redacted(text) {
                *text = hidden;
            }
        }
    }
}

impl Named<'_> {
    fn text(&self) -> Option<String> {
        self.name.or(self.uri).or(self.command).or(self.workflow).and_then(text)
    }
}

fn as_time<S: serde::Serializer>(millis: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339_millis(*millis))
}

fn parsed<'a, T: Default + Deserialize<'a>>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Returns a JSON string, cut to [`LONGEST`] bytes; `None` if the value is not a string.
fn text(raw: &RawValue) -> Option<String> {
    let mut text = whole(raw)?;
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    Some(text)
}

fn whole(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the id of a request. Returns a number as the client wrote it.
fn id(written: &str) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(written).ok()?;
    text(raw).or_else(|| (written.len() <= LONGEST).then(|| written.to_owned()))
}

/// Returns the protocol revision if it exists. Clients can send any text.
fn known(revision: &str) -> Option<&'static str> {
    ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).find(|known| *known == revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(method: &str, parameters: &str) -> Line {
        let mut line = Line::default();
        let parameters = RawValue::from_string(parameters.to_owned()).unwrap();
        let (id, session, revision) = ("\"a\"", Some("not-a-session"), Some("2025-06-18"));
        let message = Message { id, method, parameters: Some(&parameters), bytes: 9, session, revision };
        line.describe(message, &Config::default());
        line.redact();
        line
    }

    #[test]
    fn a_line_names_what_a_call_is_about_and_nothing_else() {
        for (method, parameters, tool, subject) in [
            ("prompts/get", r#"{"name":"review","arguments":{"name":"x"}}"#, None, Some("review")),
            ("resources/read", r#"{"uri":"memo://a"}"#, None, Some("memo://a")),
            ("resources/read", r#"{"uri":"https://u:hunter2@host/a"}"#, None, Some("https://***@host/a")),
            (
                "tools/call",
                r#"{"name":"update_prompt","arguments":{"name":"review","content":"x"}}"#,
                Some("update_prompt"),
                Some("review"),
            ),
            ("tools/call", r#"{"name":"installed","arguments":{"name":"secret"}}"#, Some("installed"), None),
            ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"review"}}"#, None, Some("review")),
            ("prompts/list", r#"{"cursor":"c"}"#, None, None),
            ("prompts/get", r#"{"name":7}"#, None, None),
        ] {
            let line = described(method, parameters);
            assert_eq!((line.tool.as_deref(), line.subject.as_deref()), (tool, subject), "{parameters}");
        }
        let long = described("prompts/get", &format!(r#"{{"name":"{}"}}"#, "ä".repeat(400)));
        assert_eq!(long.subject.unwrap().len(), LONGEST + '…'.len_utf8());
    }

    #[test]
    fn the_trace_comes_from_a_valid_traceparent() {
        let trace = |value: &str| described("ping", &format!(r#"{{"_meta":{{"traceparent":"{value}"}}}}"#)).trace;
        let (id, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        assert_eq!(trace(&format!("00-{id}-{span}-01")).as_deref(), Some(id));
        assert_eq!(trace(&format!("00-{id}-{span}")), None);
    }

    #[test]
    fn a_request_names_its_revision_or_has_that_of_its_session() {
        let facts = |method: &str, parameters: &str| described(method, parameters).rpc.unwrap();
        let meta =
            |revision: &str| format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}"}}}}"#);
        assert_eq!(facts("prompts/list", "{}").revision, Some("2025-06-18"));
        assert_eq!(facts("prompts/list", &meta("2026-07-28")).revision, Some("2026-07-28"));
        assert_eq!(facts("initialize", r#"{"protocolVersion":"2024-11-05"}"#).revision, Some("2024-11-05"));
        let facts = facts("prompts/list", &meta("hunter2"));
        assert_eq!((facts.revision, facts.session, facts.id.as_deref()), (None, None, Some("a")));
    }
}
