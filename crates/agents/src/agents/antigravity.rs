//! Describes Antigravity, Google's editor and command line.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_home};
use super::imports::{At, Imports, AgentOnlyFile};
use super::places::{AgentsMd, Commands, OwnInstructions, ProjectPlaces, Reading, Rules, UserPlaces};
use crate::forms::rule::WINDSURF;
use crate::servers::dialect::Dialect;
use crate::servers::document::{Document, Format};
use mcpkg_store::agent_files::Kind;
use mcpkg_store::servers::Transport;

/// Antigravity's rules have the front matter and size limit of Windsurf's. Since version 2, Antigravity prefers `.agents/rules`,
/// but still reads this folder. mcpkg writes here, because other agents read `.agents` too.
const RULES: Rules = Rules { folder: ".agent/rules", ending: ".md", format: &WINDSURF };

pub(super) static AGENT: Agent = Agent {
    name: "antigravity",
    id: "antigravity",
    title: "Antigravity",
    in_contract: false,
    also_called: &[],
    client: Client {
        program: "antigravity",
        folder: Some(|homes| homes.home.join(".gemini").join("antigravity")),
        user_file: |homes| homes.home.join(".gemini").join("config").join("mcp_config.json"),
        other_file: None,
        start: |program, args| json!({ "command": program, "args": args }),
        url: Url::Entry { field: "serverUrl", fields: |url| json!({ "serverUrl": url }), key: Key::Unsupported },
        other_fields: &[],
        next: "refresh the servers in Antigravity, under Manage MCP Servers",
        trust: None,
        greeting: Greeting::Initialize("2025-11-25"),
        passes: None,
        starts_in: in_home,
        rejects_empty_events: false,
    },
    headless: None,
    // Antigravity does not replace variables (version 2; a feature request is open).
    servers: Dialect {
        document: Document::new(Format::Json { comments: true }, "mcpServers"),
        project: Some(".agents/mcp_config.json"),
        urls: &[("serverUrl", Transport::Http), ("url", Transport::Http)],
        speaks: &[Transport::Stdio, Transport::Http],
        switch: Some(("disabled", false)),
        ..Dialect::COMMON
    },
    own_folder: ".gemini",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".agent/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        always_loaded: &["GEMINI.md"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        skills: ".agents/skills",
        also_skills: &[".agent/skills"],
        commands: Commands::FilesInWords {
            folder: ".agent/workflows",
            nested: false,
            max_characters: WINDSURF.max_characters,
        },
        ..ProjectPlaces::NONE
    },
    user: UserPlaces {
        instructions: Some("GEMINI.md"),
        skills: ".gemini/config/skills",
        also_skills: &[".gemini/antigravity/skills"],
        ..UserPlaces::NONE
    },
    subagents: None,
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".agent"],
        kept: &[
            AgentOnlyFile { kind: Kind::Hook, at: At::In(&["hooks.json"], &[".agent", ".agents"]) },
            AgentOnlyFile { kind: Kind::Servers, at: At::In(&["mcp_config.json"], &[".agent", "antigravity", "config"]) },
        ],
        ..Imports::NONE
    },
};
