//! Copilot CLI, GitHub's command line.

use std::path::PathBuf;

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_working_folder};
use crate::client::homes::Homes;

fn folder(homes: &Homes) -> PathBuf {
    homes.moved("COPILOT_HOME", ".copilot")
}

pub(super) static AGENT: Agent = Agent {
    name: "copilot",
    title: "Copilot CLI",
    program: "copilot",
    format: Format::Json { comments: false },
    key: "mcpServers",
    folder,
    user_file: |homes| folder(homes).join("mcp-config.json"),
    // `.mcp.json`, which it reads too, is Claude Code's.
    project_file: Some(|root| root.join(".github").join("mcp.json")),
    start: |program, args| json!({ "type": "local", "command": program, "args": args, "tools": ["*"] }),
    url: Url::Entry {
        field: "url",
        fields: |url| json!({ "type": "http", "url": url, "tools": ["*"] }),
        key: Key::Header("${NAME}"),
    },
    other_fields: &[],
    next: "check the server with `/mcp show` in Copilot CLI; restart running sessions to load the server",
    trust: None,
    greeting: Greeting::Discover,
    passes: None,
    starts_in: in_working_folder,
    rejects_empty_events: false,
};
