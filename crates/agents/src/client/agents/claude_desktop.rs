//! Claude Desktop, Anthropic's desktop application.

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Url, in_home};

pub(super) static AGENT: Agent = Agent {
    name: "claude-desktop",
    title: "Claude Desktop",
    program: "claude-desktop",
    format: Format::Json { comments: false },
    key: "mcpServers",
    folder: |homes| homes.config.join("Claude"),
    user_file: |homes| homes.config.join("Claude").join("claude_desktop_config.json"),
    project_file: None,
    start: |program, args| json!({ "command": program, "args": args }),
    url: Url::Refused {
        why: "Claude Desktop's file supports commands only, not URLs",
        hints: &[
            "leave out --http: Claude Desktop then starts mcpkg itself",
            "add a URL on the public internet under Settings > Connectors",
        ],
    },
    other_fields: &[],
    next: "quit Claude Desktop and start it again",
    trust: None,
    greeting: Greeting::Initialize("2025-11-25"),
    // What a client made with the protocol's own TypeScript SDK passes on.
    passes: Some(&["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]),
    starts_in: in_home,
    rejects_empty_events: false,
};
