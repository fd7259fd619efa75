//! Defines the lines of the audit log, and which facts about a request they contain.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::mcp::{Config, tools};
use mcpkg_base::clock::{Millis, rfc3339_millis};
use mcpkg_base::redact::redacted;
use mcpkg_store::projects::Selection;

/// The maximum size in bytes of a text that a client chose.
const LONGEST: usize = 500;

/// A line of the audit log. It contains names and sizes, but neither arguments nor contents.
#[derive(Debug, Default, Serialize)]
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
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
}

impl Line {
    /// Fills in what the request asks for.
    pub(super) fn describe(&mut self, method: &str, parameters: Option<&RawValue>, config: &Config) {
        method.clone_into(&mut self.method);
        let parameters: Parameters<'_> = parsed(parameters);
        let meta: Meta<'_> = parsed(parameters.meta);
        self.trace = meta.traceparent.and_then(text).as_deref().and_then(trace_id).map(str::to_owned);
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
        for text in texts.into_iter().flatten().chain([&mut self.method]) {
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
    let mut text: String = serde_json::from_str(raw.get()).ok()?;
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    Some(text)
}

/// Returns the id of the trace in a `traceparent` of the W3C: `00-TRACE-SPAN-FLAGS`.
fn trace_id(traceparent: &str) -> Option<&str> {
    let mut parts = traceparent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex(version, 2) && is_hex(trace, 32) && is_hex(parts.next()?, 16)).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(method: &str, parameters: &str) -> Line {
        let mut line = Line::default();
        let parameters = RawValue::from_string(parameters.to_owned()).unwrap();
        line.describe(method, Some(&parameters), &Config::default());
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
        for wrong in ["", "00", "00-x-y-z", &format!("00-{id}"), &format!("00-{id}-x-01")] {
            assert_eq!(trace(wrong), None, "{wrong}");
        }
    }
}
