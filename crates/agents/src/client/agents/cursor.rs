//! Cursor.

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_home};

pub(super) static AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    program: "cursor",
    format: Format::Json { comments: true },
    key: "mcpServers",
    folder: |homes| homes.home.join(".cursor"),
    user_file: |homes| homes.home.join(".cursor").join("mcp.json"),
    project_file: Some(|root| root.join(".cursor").join("mcp.json")),
    start: |program, args| json!({ "type": "stdio", "command": program, "args": args }),
    url: Url::Entry { field: "url", fields: |url| json!({ "url": url }), key: Key::Header("${env:NAME}") },
    other_fields: &[],
    next: "enable the server in Cursor's settings, under MCP",
    trust: None,
    greeting: Greeting::Initialize("2025-11-25"),
    passes: None,
    starts_in: in_home,
    rejects_empty_events: false,
};
