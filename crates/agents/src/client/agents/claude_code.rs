//! Claude Code, Anthropic's command line.

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url, in_working_folder};
use crate::client::homes::named;

/// Moves its folder, and its file into that.
const HOME: &str = "CLAUDE_CONFIG_DIR";

pub(super) static AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    program: "claude",
    format: Format::Json { comments: false },
    key: "mcpServers",
    folder: |homes| homes.moved(HOME, ".claude"),
    user_file: |homes| named(HOME).unwrap_or_else(|| homes.home.clone()).join(".claude.json"),
    project_file: Some(|root| root.join(".mcp.json")),
    start: |program, args| json!({ "type": "stdio", "command": program, "args": args }),
    url: Url::Entry {
        field: "url",
        fields: |url| json!({ "type": "http", "url": url }),
        key: Key::Header("${NAME}"),
    },
    other_fields: &[],
    next: "check the server with `claude mcp list`; restart running sessions to load the server",
    trust: Some("In this folder, Claude Code asks once whether to use the project's servers"),
    greeting: Greeting::Discover,
    passes: None,
    starts_in: in_working_folder,
    rejects_empty_events: false,
};
