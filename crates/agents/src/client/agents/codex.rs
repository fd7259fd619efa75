//! Codex, OpenAI's command line and extension.

use std::path::PathBuf;

use serde_json::json;

use crate::client::agent::{Agent, Format, Greeting, Key, Url};
use crate::client::homes::Homes;

fn folder(homes: &Homes) -> PathBuf {
    homes.moved("CODEX_HOME", ".codex")
}

pub(super) static AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    program: "codex",
    format: Format::Toml,
    key: "mcp_servers",
    folder,
    user_file: |homes| folder(homes).join("config.toml"),
    project_file: Some(|root| root.join(".codex").join("config.toml")),
    start: |program, args| json!({ "command": program, "args": args }),
    url: Url::Entry {
        field: "url",
        fields: |url| json!({ "url": url }),
        key: Key::Field("bearer_token_env_var"),
    },
    other_fields: &["http_headers", "env_http_headers"],
    next: "check the server with `codex mcp list`; restart running sessions to load the server",
    trust: Some("Codex reads a project's config.toml only in folders that you have marked as trusted in Codex"),
    greeting: Greeting::Initialize("2025-06-18"),
    // Measured with 0.169.
    passes: Some(&[
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "USER",
        "__CF_USER_TEXT_ENCODING",
        "LANG",
        "LC_ALL",
        "TERM",
        "TMPDIR",
        "TZ",
    ]),
    starts_in: |homes, _| folder(homes),
    rejects_empty_events: false,
};
