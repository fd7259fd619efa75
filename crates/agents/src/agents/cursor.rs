//! Describes Cursor.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_home};
use super::imports::{AgentOnlyFile, Also, At, Form, Holds, Imports, List, Manifest, Role};
use super::places::{AgentsMd, Commands, FolderFile, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Reading, Rules, SkillReading, Subagents, UserPlaces};
use crate::forms::rule::CURSOR;
use crate::forms::subagent;
use crate::servers::dialect::Dialect;
use crate::servers::document::{Document, Format};
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;

/// A rule applies always, to files that match its globs, when Cursor picks it by its description, or when the user
/// names it. Cursor reads the front matter line by line.
const RULES: Rules = Rules {
    folder: ".cursor/rules",
    ending: ".mdc",
    format: &CURSOR,
};

pub(super) static AGENT: Agent = Agent {
    name: "cursor",
    id: "cursor",
    title: "Cursor",
    in_contract: true,
    also_called: &[],
    client: Client {
        program: "cursor",
        folder: None,
        user_file: |homes| AGENT.folder(homes).join("mcp.json"),
        other_file: None,
        start: |program, args| json!({ "type": "stdio", "command": program, "args": args }),
        url: Url::Entry { field: "url", fields: |url| json!({ "url": url }), key: Key::Header("${env:NAME}") },
        other_fields: &[],
        next: "enable the server in Cursor's settings, under MCP",
        trust: None,
        greeting: Greeting::Initialize("2025-11-25"),
        passes: None,
        starts_in: in_home,
        rejects_empty_events: false,
    },
    headless: None,
    servers: Dialect {
        document: Document::new(Format::Json { comments: true }, "mcpServers"),
        project: Some(".cursor/mcp.json"),
        expansion: Expansion::NAMED,
        ..Dialect::COMMON
    },
    own_folder: ".cursor",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".cursor/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[".cursorrules"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".agents/skills",
        also_skills: &[".cursor/skills"],
        commands: Commands::FilesInWords { folder: ".cursor/commands", nested: true, max_characters: None },
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: None,
        max_characters: None,
        scoped_rules: None,
        skills: ".cursor/skills",
        also_skills: &[".agents/skills"],
        commands: Commands::FilesInWords { folder: ".cursor/commands", nested: true, max_characters: None },
    },
    subagents: Some(Subagents {
        project: ".cursor/agents",
        user: None,
        ending: ".md",
        form: subagent::CURSOR,
        takes_plain: false,
        listed: false,
    }),
    reading: Reading {
        skills: SkillReading {
            always_applies: true,
            needs_description: true,
            cuts_description: Some(1_536),
            scoped_by: &["paths", "globs"],
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
    },
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[OriginalPlace {
        option: "write_rules",
        default: true,
        folder: ".cursor/rules",
        form: OriginalForm::CursorRules,
    }],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".cursor"],
        plugins: &[".cursor-plugin"],
        // Taken from Cursor's documentation, not tested with Cursor itself.
        manifest: Some(Manifest {
            lists: &[
                List::replaces("rules", Holds::Rules),
                List::replaces("agents", Holds::Subagents),
                List::replaces("commands", Holds::Commands),
                List::replaces("skills", Holds::Skills),
                List::replaces("hooks", Holds::Hooks),
                List::replaces("mcpServers", Holds::Servers),
            ],
            is_strict: false,
            needs_dot: false,
            front_names: true,
        }),
        also: &[Also([".cursor", "rules"], Role::Instructions, Form::Unread, ".md")],
        at_root: &[".cursorrules"],
        endings: &[(Role::Instructions, Form::Rule(&CURSOR), ".mdc")],
        kept: &[
            AgentOnlyFile { kind: Kind::Hook, at: At::Below(&[".cursor", "hooks"]) },
            AgentOnlyFile { kind: Kind::Hook, at: At::In(&["hooks.json"], &[".cursor"]) },
            AgentOnlyFile { kind: Kind::Permission, at: At::In(&["cli.json"], &[".cursor"]) },
            AgentOnlyFile { kind: Kind::Ignore, at: At::Anywhere(&[".cursorignore", ".cursorindexingignore"]) },
        ],
        ..Imports::NONE
    },
};
