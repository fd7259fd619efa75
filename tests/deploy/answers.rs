//! Reads what tools return: one envelope, as text and as structured content.

use serde_json::{Value, json};

use crate::support::Client;

/// Calls a tool and returns the envelope. Checks that text and structuredContent are equal, and that isError matches.
#[track_caller]
pub fn tool(client: &mut Client, name: &str, arguments: Value) -> Value {
    let result = client.result("tools/call", json!({ "name": name, "arguments": arguments }));
    checked(name, &result)
}

/// Returns the envelope of a tool's result, after the checks of [`tool`].
#[track_caller]
pub fn checked(name: &str, result: &Value) -> Value {
    let text: Value = serde_json::from_str(word(&result["content"][0]["text"])).expect("an envelope");
    assert_eq!(text, result["structuredContent"], "{name}");
    assert_eq!(result["isError"], json!(text["ok"] == false), "{name}: {text:#}");
    assert_eq!(text["schema_version"], 1, "{name}");
    text
}

/// Calls a tool that must fail with `code`, and returns the error.
#[track_caller]
pub fn tool_refused(client: &mut Client, name: &str, arguments: Value, code: &str) -> Value {
    let mut envelope = tool(client, name, arguments);
    assert_eq!(envelope["errors"][0]["code"], code, "{name}: {envelope:#}");
    assert_eq!(envelope["data"], json!({}), "{name}");
    envelope["errors"][0].take()
}

/// Calls a tool that must succeed, and returns the envelope's data.
#[track_caller]
pub fn tool_data(client: &mut Client, name: &str, arguments: Value) -> Value {
    let mut envelope = tool(client, name, arguments);
    assert_eq!(envelope["ok"], true, "{name}: {envelope:#}");
    envelope["data"].take()
}

/// Returns a value's text.
#[track_caller]
pub fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
