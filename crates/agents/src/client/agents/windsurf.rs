//! Windsurf.

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_home};

pub(super) static AGENT: Agent = Agent {
    name: "windsurf",
    title: "Windsurf",
    program: "windsurf",
    format: Format::Json { comments: false },
    key: "mcpServers",
    folder: |homes| homes.home.join(".codeium").join("windsurf"),
    user_file: |homes| homes.home.join(".codeium").join("windsurf").join("mcp_config.json"),
    project_file: None,
    start: |program, args| json!({ "command": program, "args": args }),
    url: Url::Entry { field: "serverUrl", fields: |url| json!({ "serverUrl": url }), key: Key::Header("${env:NAME}") },
    other_fields: &[],
    next: "refresh the MCP servers in Windsurf's Cascade panel",
    trust: None,
    greeting: Greeting::Initialize("2025-11-25"),
    passes: None,
    starts_in: in_home,
    rejects_empty_events: false,
};
