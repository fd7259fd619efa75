//! Describes Windsurf. Since June 2026 it is called Devin Desktop, and still reads Windsurf's folders.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_home};
use super::imports::{Also, At, Form, Imports, AgentOnlyFile, Role};
use super::places::{AgentsMd, Commands, FolderFile, OwnInstructions, ProjectPlaces, Reading, Rules, UserPlaces};
use crate::forms::rule::WINDSURF;
use crate::servers::dialect::Dialect;
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::servers::Transport;

/// A rule can apply always, for globs, by its description or manually.
const RULES: Rules = Rules { folder: ".windsurf/rules", ending: ".md", format: &WINDSURF };

pub(super) static AGENT: Agent = Agent {
    name: "windsurf",
    id: "windsurf",
    title: "Windsurf",
    in_contract: false,
    also_called: &["devin"],
    client: Client {
        program: "windsurf",
        folder: None,
        user_file: |homes| AGENT.folder(homes).join("mcp_config.json"),
        other_file: None,
        start: |program, args| json!({ "command": program, "args": args }),
        url: Url::Entry { field: "serverUrl", fields: |url| json!({ "serverUrl": url }), key: Key::Header("${env:NAME}") },
        other_fields: &[],
        next: "refresh the MCP servers in Windsurf's Cascade panel",
        trust: None,
        greeting: Greeting::Initialize("2025-11-25"),
        passes: None,
        starts_in: in_home,
        rejects_empty_events: false,
    },
    headless: None,
    servers: Dialect {
        expansion: Expansion::NAMED,
        urls: &[("serverUrl", Transport::Http), ("url", Transport::Http)],
        speaks: &[Transport::Stdio, Transport::Http],
        switch: Some(("disabled", false)),
        ..Dialect::COMMON
    },
    own_folder: ".codeium/windsurf",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".windsurf/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[".windsurfrules"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".windsurf/skills",
        also_skills: &[".devin/skills"],
        commands: Commands::FilesInWords {
            folder: ".windsurf/workflows",
            nested: false,
            max_characters: WINDSURF.max_characters,
        },
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("memories/global_rules.md"),
        max_characters: Some(6_000),
        scoped_rules: None,
        skills: ".codeium/windsurf/skills",
        also_skills: &[".config/devin/skills"],
        commands: Commands::Skills,
    },
    subagents: None,
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".windsurf", ".devin"],
        also: &[Also([".devin", "rules"], Role::Instructions, Form::Rule(&WINDSURF), ".md")],
        at_root: &[".windsurfrules"],
        kept: &[
            AgentOnlyFile { kind: Kind::Hook, at: At::In(&["hooks.json"], &[".windsurf", ".devin"]) },
            AgentOnlyFile {
                kind: Kind::Servers,
                at: At::In(&["mcp.json", "mcp_config.json"], &[".windsurf", ".devin", "windsurf"]),
            },
            AgentOnlyFile { kind: Kind::Ignore, at: At::Anywhere(&[".codeiumignore", ".devinignore"]) },
        ],
        ..Imports::NONE
    },
};
