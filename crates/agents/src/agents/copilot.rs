//! Describes Copilot CLI, GitHub's command line.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_working_folder};
use super::headless::{self, Attach, Headless};
use super::imports::{AgentOnlyFile, At, Holds, Imports, List, Manifest};
use super::places::{AgentsMd, CalledBy, Commands, FolderFile, ListedCommands, OwnInstructions, ProjectPlaces, Reading, Rules, SkillReading, Subagents, UserPlaces};
use crate::forms::rule::COPILOT;
use crate::forms::skill::Fault;
use crate::forms::subagent;
use crate::servers::dialect::Dialect;
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;

/// In a project, Copilot CLI reads nearly all files that VS Code reads, and some that VS Code does not.
pub(super) static AGENT: Agent = Agent {
    name: "copilot",
    id: "copilot",
    title: "Copilot CLI",
    in_contract: false,
    also_called: &["vscode"],
    client: Client {
        program: "copilot",
        folder: Some(|homes| homes.moved("COPILOT_HOME", ".copilot")),
        user_file: |homes| AGENT.folder(homes).join("mcp-config.json"),
        other_file: None,
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
    },
    headless: Some(Headless {
        args: &[
            "--output-format",
            "json",
            "--disable-builtin-mcps",
            "--no-ask-user",
            "--additional-mcp-config",
            "@mcpkg.json",
            "--available-tools",
            "mcpkg",
            "--allow-tool",
            "mcpkg",
        ],
        variables: &[],
        attach: Attach::File { name: "mcpkg.json", content: |entry| json!({ "mcpServers": { "mcpkg": entry } }) },
        also: "none of its own tools",
        read: |line| match line["type"].as_str() {
            Some("assistant.message") => headless::text(&line["data"]["content"]).into_iter().collect(),
            Some("session.error") => headless::error(&line["data"]["message"]),
            _ => Vec::new(),
        },
    }),
    servers: Dialect {
        // Copilot CLI also reads `.mcp.json`, but that file is Claude Code's.
        project: Some(".github/mcp.json"),
        hidden_by: Some(".mcp.json"),
        expansion: Expansion::BARE,
        types: (Some("local"), true),
        cwd: true,
        names_are_variables: true,
        ..Dialect::COMMON
    },
    own_folder: ".copilot",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".github",
        lists_extras: false,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[".github/copilot-instructions.md", "CLAUDE.md", "GEMINI.md"],
        own_instructions: Some(OwnInstructions::Block { folder: ".github", file: "copilot-instructions.md" }),
        scoped_rules: Some(Rules { folder: ".github/instructions", ending: ".instructions.md", format: &COPILOT }),
        also_reads: &[".claude/rules"],
        // Copilot CLI reads these files when it views a file in their folder.
        folder_files: &[
            FolderFile { name: "AGENTS.md", hidden_by: &[] },
            FolderFile { name: "GEMINI.md", hidden_by: &[] },
        ],
        skills: ".agents/skills",
        also_skills: &[".github/skills", ".claude/skills"],
        commands: Commands::Skills,
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("copilot-instructions.md"),
        max_characters: None,
        scoped_rules: Some(Rules { folder: ".copilot/instructions", ending: ".instructions.md", format: &COPILOT }),
        skills: ".agents/skills",
        also_skills: &[".copilot/skills"],
        commands: Commands::Skills,
    },
    subagents: Some(Subagents {
        project: ".github/agents",
        user: Some("agents"),
        ending: ".agent.md",
        form: subagent::VSCODE,
        takes_plain: false,
        listed: true,
    }),
    reading: Reading {
        import_hops: 4,
        // Measured with Copilot CLI 1.0.102, which follows imports in CLAUDE.md and AGENTS.md.
        no_imports_in: &["GEMINI.md"],
        equal_once: true,
        lists_commands: Some(ListedCommands { folder: ".claude/commands", nested: false, of_user: false }),
        skills: SkillReading {
            called_by: Some(CalledBy::Name),
            finds_nested: Some(true),
            rejects: &[Fault::NotYaml, Fault::LongDescription],
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
    },
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".copilot"],
        plugins: &[".plugin"],
        manifest: Some(Manifest {
            lists: &[
                List::replaces("agents", Holds::Subagents),
                List::replaces("commands", Holds::Commands),
                List::replaces("skills", Holds::Skills),
                List::replaces("hooks", Holds::Hooks),
                List { hidden_by: Some(".mcp.json"), ..List::replaces("mcpServers", Holds::Servers) },
            ],
            is_strict: false,
            needs_dot: false,
            front_names: false,
        }),
        namespace: Some("com.github.copilot"),
        kept: &[
            AgentOnlyFile { kind: Kind::Plugin, at: At::Below(&[".github", "plugin"]) },
            AgentOnlyFile { kind: Kind::Servers, at: At::In(&["mcp-config.json"], &[".copilot"]) },
        ],
        ..Imports::NONE
    },
};
