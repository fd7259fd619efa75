//! Visual Studio Code with Copilot.

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_home};

pub(super) static AGENT: Agent = Agent {
    name: "vscode",
    title: "VS Code",
    program: "code",
    format: Format::Json { comments: true },
    key: "servers",
    folder: |homes| homes.config.join("Code"),
    user_file: |homes| homes.config.join("Code").join("User").join("mcp.json"),
    project_file: Some(|root| root.join(".vscode").join("mcp.json")),
    start: |program, args| json!({ "type": "stdio", "command": program, "args": args }),
    url: Url::Entry {
        field: "url",
        fields: |url| json!({ "type": "http", "url": url }),
        key: Key::Header("${env:NAME}"),
    },
    other_fields: &[],
    next: "start the server with `MCP: List Servers` in VS Code's command palette",
    trust: None,
    greeting: Greeting::Initialize("2025-11-25"),
    passes: None,
    starts_in: in_home,
    rejects_empty_events: false,
};
