//! Gemini CLI, Google's command line.

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_working_folder};

pub(super) static AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    program: "gemini",
    format: Format::Json { comments: true },
    key: "mcpServers",
    folder: |homes| homes.home.join(".gemini"),
    user_file: |homes| homes.home.join(".gemini").join("settings.json"),
    project_file: Some(|root| root.join(".gemini").join("settings.json")),
    start: |program, args| json!({ "command": program, "args": args }),
    url: Url::Entry { field: "httpUrl", fields: |url| json!({ "httpUrl": url }), key: Key::Header("$NAME") },
    other_fields: &[],
    next: "check the server with `gemini mcp list` in a folder that Gemini CLI trusts; restart running sessions to load the server",
    trust: None,
    greeting: Greeting::Initialize("2025-06-18"),
    passes: None,
    starts_in: in_working_folder,
    rejects_empty_events: true,
};
