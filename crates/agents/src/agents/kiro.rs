//! Describes Kiro, Amazon's editor and command line.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_home};
use super::imports::{At, Imports, AgentOnlyFile};
use super::places::{AgentsMd, Commands, FolderFile, OwnInstructions, ProjectPlaces, Reading, Rules, UserPlaces};
use crate::forms::rule::KIRO;
use crate::servers::dialect::Dialect;
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;

/// A rule can apply always, for globs, by its description or manually. In the home folder, rules with globs have no effect (Kiro
/// 0.12).
const RULES: Rules = Rules { folder: ".kiro/steering", ending: ".md", format: &KIRO };

pub(super) static AGENT: Agent = Agent {
    name: "kiro",
    id: "kiro",
    title: "Kiro",
    in_contract: false,
    also_called: &[],
    client: Client {
        program: "kiro",
        folder: None,
        user_file: |homes| AGENT.folder(homes).join("settings").join("mcp.json"),
        other_file: None,
        start: |program, args| json!({ "command": program, "args": args }),
        url: Url::Entry { field: "url", fields: |url| json!({ "url": url }), key: Key::Header("${NAME}") },
        other_fields: &[],
        next: "check the server in Kiro's panel, under MCP servers",
        trust: None,
        greeting: Greeting::Initialize("2025-11-25"),
        passes: None,
        starts_in: in_home,
        rejects_empty_events: false,
    },
    headless: None,
    servers: Dialect {
        project: Some(".kiro/settings/mcp.json"),
        expansion: Expansion::BRACED,
        switch: Some(("disabled", false)),
        ..Dialect::COMMON
    },
    own_folder: ".kiro",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".kiro/steering",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".kiro/skills",
        commands: Commands::FilesInWords { folder: ".kiro/prompts", nested: false, max_characters: None },
        ..ProjectPlaces::NONE
    },
    user: UserPlaces {
        instructions: Some("steering/AGENTS.md"),
        skills: ".kiro/skills",
        commands: Commands::FilesInWords { folder: ".kiro/prompts", nested: false, max_characters: None },
        ..UserPlaces::NONE
    },
    subagents: None,
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".kiro"],
        kept: &[
            AgentOnlyFile { kind: Kind::Hook, at: At::Below(&[".kiro", "hooks"]) },
            AgentOnlyFile { kind: Kind::Servers, at: At::In(&["mcp.json"], &["settings"]) },
            AgentOnlyFile { kind: Kind::Ignore, at: At::Anywhere(&[".kiroignore"]) },
        ],
        ..Imports::NONE
    },
};
