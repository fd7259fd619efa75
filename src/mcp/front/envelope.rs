//! Parses the envelope of a line: its kind, id and method. The rest stays text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The maximum length of an id in bytes. Ids are kept in memory while their requests are in progress.
const LONGEST_ID: usize = 1024;

/// The maximum nesting depth of a message.
const MAX_DEPTH: usize = 127;

/// The kinds of lines.
pub(in crate::mcp) enum Line<'a> {
    /// Only white space.
    Blank,
    One(Envelope<'a>),
    /// A JSON array, with the text of each item.
    Batch(Vec<&'a str>),
    /// Invalid JSON, with the reason.
    Unreadable(String),
}

/// The id that an answer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Id<'a> {
    /// The id exactly as it is written in the request.
    Known(&'a str),
    /// No id could be read.
    Null,
}

impl<'a> Id<'a> {
    /// Returns the id exactly as it is written in the request, if there is one.
    pub(in crate::mcp) fn known(self) -> Option<&'a str> {
        match self {
            Id::Known(id) => Some(id),
            Id::Null => None,
        }
    }
}

#[derive(Debug)]
pub(in crate::mcp) enum Envelope<'a> {
    Request { id: &'a str, method: Cow<'a, str>, parameters: Option<&'a RawValue>, text: &'a str },
    Notification { method: Cow<'a, str>, parameters: Option<&'a RawValue>, text: &'a str },
    Response { text: &'a str },
    Invalid { id: Id<'a>, why: String },
}

impl<'a> Envelope<'a> {
    /// Returns the id for the answer, exactly as it is written in the request.
    pub(in crate::mcp) fn id(&self) -> Option<&'a str> {
        match self {
            Envelope::Request { id, .. } => Some(id),
            Envelope::Invalid { id, .. } => id.known(),
            Envelope::Notification { .. } | Envelope::Response { .. } => None,
        }
    }

    /// Returns whether the message gets an answer.
    pub(in crate::mcp) fn wants_answer(&self) -> bool {
        matches!(self, Envelope::Request { .. } | Envelope::Invalid { .. })
    }
}

/// Parses a line.
pub(in crate::mcp) fn parse(line: &[u8]) -> Line<'_> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim_matches([' ', '\t', '\r', '\n']),
        Err(_) => return Line::Unreadable("Parse error: the line is not UTF-8".to_owned()),
    };
    if text.is_empty() {
        return Line::Blank;
    }
    // The parser does not check values that it skips, so it would accept a lone surrogate there.
    if text.contains("\\u") && has_lone_surrogate(text) {
        return Line::Unreadable("Parse error: the line contains half of a surrogate pair".to_owned());
    }
    match text.as_bytes()[0] {
        b'{' => match fields(text) {
            Ok(fields) => Line::One(fields.classify(text)),
            Err(error) => Line::Unreadable(format!("Parse error: {error}")),
        },
        b'[' => match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(items) => Line::Batch(items.into_iter().map(RawValue::get).collect()),
            Err(error) => Line::Unreadable(format!("Parse error: {error}")),
        },
        _ => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Line::One(invalid(Id::Null, "the message is not an object")),
            Err(error) => Line::Unreadable(format!("Parse error: {error}")),
        },
    }
}

/// Parses an item of a batch.
pub(in crate::mcp) fn parse_item(text: &str) -> Envelope<'_> {
    match fields(text) {
        Ok(fields) if text.starts_with('{') => fields.classify(text),
        _ => invalid(Id::Null, "the message is not an object"),
    }
}

fn invalid<'a>(id: Id<'a>, why: &str) -> Envelope<'a> {
    Envelope::Invalid { id, why: format!("Invalid request: {why}") }
}

#[derive(Default)]
struct Fields<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    parameters: Option<&'a RawValue>,
    answer: bool,
}

impl<'a> Fields<'a> {
    fn classify(self, text: &'a str) -> Envelope<'a> {
        let id = self.id.map(|raw| id(raw.get()));
        let answer_to = id.flatten().map_or(Id::Null, Id::Known);
        if self.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return invalid(answer_to, "`jsonrpc` must be \"2.0\"");
        }
        let Some(method) = self.method else {
            return match (self.answer, id) {
                (true, Some(Some(_))) => Envelope::Response { text },
                // A response without a valid id is accepted too, although it matches none of the server's requests.
                (true, _) => Envelope::Response { text },
                _ => invalid(answer_to, "`method` is missing"),
            };
        };
        if id == Some(None) {
            return invalid(Id::Null, "`id` must be a string or an integer of at most 1024 bytes");
        }
        let Ok(method) = serde_json::from_str::<Text<'a>>(method.get()) else {
            return invalid(answer_to, "`method` must be a string");
        };
        let parameters = self.parameters.filter(|raw| raw.get() != "null");
        if parameters.is_some_and(|raw| !raw.get().starts_with('{')) {
            return invalid(answer_to, "`params` must be an object");
        }
        let method = method.0;
        match id.flatten() {
            Some(id) => Envelope::Request { id, method, parameters, text },
            None => Envelope::Notification { method, parameters, text },
        }
    }
}

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the id unchanged if it is a string or an integer, and not too long.
fn id(raw: &str) -> Option<&str> {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    ((integer || raw.starts_with('"')) && raw.len() <= LONGEST_ID).then_some(raw)
}

fn fields(text: &str) -> serde_json::Result<Fields<'_>> {
    struct Last;
    impl<'de> Visitor<'de> for Last {
        type Value = Fields<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON-RPC message")
        }
        /// If a key occurs twice, the last one wins.
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Fields::default();
            while let Some(key) = map.next_key::<Text<'de>>()? {
                match key.0.as_ref() {
                    "jsonrpc" => fields.jsonrpc = Some(map.next_value()?),
                    "id" => fields.id = Some(map.next_value()?),
                    "method" => fields.method = Some(map.next_value()?),
                    "params" => fields.parameters = Some(map.next_value()?),
                    "result" | "error" => {
                        map.next_value::<IgnoredAny>()?;
                        fields.answer = true;
                    }
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(fields)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let fields = deserializer.deserialize_map(Last)?;
    deserializer.end()?;
    Ok(fields)
}

/// Refuses messages that are nested more deeply than rmcp's parser accepts.
pub(super) fn check_depth(text: &str) -> Result<(), String> {
    let (mut depth, mut in_string, mut escaped) = (1_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err("Parse error: recursion limit exceeded".to_owned());
                }
            }
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether a text contains a `\u` escape that is only one half of a surrogate pair.
fn has_lone_surrogate(text: &str) -> bool {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut at = 0;
    while at + 1 < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xd800..=0xdbff) => match unit(at + 6) {
                Some(0xdc00..=0xdfff) => at += 12,
                _ => return true,
            },
            Some(0xdc00..=0xdfff) => return true,
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    false
}

/// Finds the id of the outermost object in a message that was cut off. Returns the id exactly as it is written.
pub(super) fn find_id(head: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    struct Found<'a>(&'a mut Option<String>);
    impl<'de> Visitor<'de> for Found<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON-RPC message")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Text<'de>>()? {
                if key.0 == "id" {
                    *self.0 = id(map.next_value::<&RawValue>()?.get()).map(str::to_owned);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }
    let mut found = None;
    // The text is cut off, so parsing fails. By then the id was found, or it is not in this part.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(Found(&mut found));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(line: &str) -> String {
        match parse(line.as_bytes()) {
            Line::Blank => "blank".to_owned(),
            Line::One(envelope) => describe(&envelope),
            Line::Batch(items) => {
                let items: Vec<String> = items.into_iter().map(|item| describe(&parse_item(item))).collect();
                format!("batch {}", items.join(" | "))
            }
            Line::Unreadable(_) => "unreadable".to_owned(),
        }
    }

    fn describe(envelope: &Envelope<'_>) -> String {
        match envelope {
            Envelope::Request { id, method, .. } => format!("request {id} {method}"),
            Envelope::Notification { method, .. } => format!("notification {method}"),
            Envelope::Response { .. } => "response".to_owned(),
            Envelope::Invalid { id, .. } => format!("invalid {id:?}"),
        }
    }

    #[test]
    fn lines_are_classified() {
        for (line, expected) in [
            ("  \r", "blank"),
            ("nonsense", "unreadable"),
            (r#"{"jsonrpc":"2.0","id":1"#, "unreadable"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, "unreadable"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, "unreadable"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"p\u0069ng"}"#, "request \"a\" ping"),
            (r#"{"id":1,"id":2,"jsonrpc":"2.0","method":"x","method":"ping"}"#, "request 2 ping"),
            (r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, "notification notifications/x"),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "response"),
            (r#"{"id":7,"method":"ping"}"#, "invalid Known(\"7\")"),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, "invalid Known(\"7\")"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "invalid Null"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "invalid Null"),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, "invalid Known(\"7\")"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#, "invalid Known(\"7\")"),
            (r#"{"jsonrpc":"2.0","id":7}"#, "invalid Known(\"7\")"),
            ("5", "invalid Null"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},3]"#, "batch request 1 ping | invalid Null"),
        ] {
            assert_eq!(show(line), expected, "{line}");
        }
        assert!(matches!(parse(b"{\"a\":\"\xff\"}"), Line::Unreadable(_)));
        let long = |letters: usize| format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(letters));
        assert!(show(&long(1022)).starts_with("request"));
        assert_eq!(show(&long(1023)), "invalid Null");
    }

    #[test]
    fn the_id_of_a_cut_off_line_is_found_if_it_comes_early() {
        assert_eq!(
            find_id(br#"{"jsonrpc":"2.0","id":42,"method":"x","params":{"id":7,"a":"zzz"#).as_deref(),
            Some("42")
        );
        assert_eq!(find_id(br#"{"params":{"id":7,"a":"zzz"#), None);
    }

    #[test]
    fn depth_is_counted_outside_strings() {
        assert!(check_depth(&"[".repeat(126)).is_ok());
        assert!(check_depth(&"[".repeat(127)).is_err());
        assert!(check_depth(&format!("{{\"a\":\"{}\"}}", "[".repeat(500))).is_ok());
    }
}
