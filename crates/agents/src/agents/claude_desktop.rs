//! Describes Claude Desktop, Anthropic's desktop application. It reads only the user's MCP servers, not instructions or skills.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Url, in_home};
use super::imports::{At, Imports, AgentOnlyFile};
use super::places::{ProjectPlaces, Reading, UserPlaces};
use crate::servers::dialect::Dialect;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::servers::Transport;

pub(super) static AGENT: Agent = Agent {
    name: "claude-desktop",
    id: "claude_desktop",
    title: "Claude Desktop",
    in_contract: false,
    also_called: &[],
    client: Client {
        program: "claude-desktop",
        folder: Some(|homes| homes.config.join("Claude")),
        user_file: |homes| AGENT.folder(homes).join("claude_desktop_config.json"),
        other_file: None,
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
        // These are the variables that MCP's TypeScript SDK passes to a server.
        passes: Some(&["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]),
        starts_in: in_home,
        rejects_empty_events: false,
    },
    headless: None,
    servers: Dialect {
        keeps: Some(&["mcpServers"]),
        speaks: &[Transport::Stdio],
        ..Dialect::COMMON
    },
    own_folder: ".config/Claude",
    moved_by: None,
    servers_only: true,
    project: ProjectPlaces::NONE,
    user: UserPlaces::NONE,
    subagents: None,
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
    imports: Imports {
        kept: &[AgentOnlyFile { kind: Kind::Servers, at: At::Anywhere(&["claude_desktop_config.json"]) }],
        ..Imports::NONE
    },
};
