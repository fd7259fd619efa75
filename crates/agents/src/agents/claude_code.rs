//! Describes Claude Code, Anthropic's coding agent for the terminal.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_working_folder};
use super::headless::{self, Attach, Headless, Said};
use super::homes::named;
use super::imports::{AgentOnlyFile, Also, At, Form, Holds, Imports, InFolder, InPlugins, List, Manifest, Role};
use super::places::{AgentsMd, CalledBy, Commands, FolderFile, Manual, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Reading, Rules, SkillReading, Subagents, UserPlaces};
use crate::forms::rule::CLAUDE_CODE;
use crate::forms::subagent;
use crate::servers::dialect::Dialect;
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;

/// The environment variable that moves Claude Code's folder. If it is set, `.claude.json` is in that folder too.
const HOME: &str = "CLAUDE_CONFIG_DIR";

/// Files that make Claude Code ignore AGENTS.md.
const HIDING: &[&str] = &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];

/// A rule with `paths` applies when the agent reads a matching file. A rule without `paths` always applies.
const RULES: Rules = Rules {
    folder: ".claude/rules",
    ending: ".md",
    format: &CLAUDE_CODE,
};

pub(super) static AGENT: Agent = Agent {
    name: "claude-code",
    id: "claude_code",
    title: "Claude Code",
    in_contract: true,
    also_called: &["claude"],
    client: Client {
        program: "claude",
        folder: Some(|homes| homes.moved(HOME, ".claude")),
        user_file: |homes| named(HOME).unwrap_or_else(|| homes.home.clone()).join(".claude.json"),
        other_file: None,
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
    },
    headless: Some(Headless {
        args: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--no-session-persistence",
            "--permission-mode",
            "dontAsk",
            "--tools",
            "",
            "--strict-mcp-config",
            "--mcp-config",
            "mcpkg.json",
            "--allowedTools",
            "mcp__mcpkg",
        ],
        variables: &[],
        attach: Attach::File { name: "mcpkg.json", content: |entry| json!({ "mcpServers": { "mcpkg": entry } }) },
        also: "none of its own tools",
        read: |line| match line["type"].as_str() {
            Some("assistant") => {
                let blocks = line["message"]["content"].as_array().into_iter().flatten();
                blocks.filter_map(|block| headless::text(&block["text"])).collect()
            }
            Some("result") => {
                let mut said: Vec<Said> = line["total_cost_usd"].as_f64().map(Said::Cost).into_iter().collect();
                if line["is_error"] == true {
                    said.extend(headless::error(&line["result"]));
                }
                said
            }
            _ => Vec::new(),
        },
    }),
    servers: Dialect {
        project: Some(".mcp.json"),
        scripts_need_cmd: true,
        expansion: Expansion::BRACED,
        types: (Some("stdio"), true),
        ..Dialect::COMMON
    },
    own_folder: ".claude",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".claude/rules",
        lists_extras: true,
        agents_md: AgentsMd::UnlessHiddenBy(HIDING),
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: HIDING }],
        skills: ".claude/skills",
        also_skills: &[],
        commands: Commands::Files(".claude/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("CLAUDE.md"),
        max_characters: None,
        scoped_rules: Some(RULES),
        skills: ".claude/skills",
        also_skills: &[],
        commands: Commands::Files(".claude/commands"),
    },
    subagents: Some(Subagents {
        project: ".claude/agents",
        user: Some("agents"),
        ending: ".md",
        form: subagent::CLAUDE_CODE,
        takes_plain: true,
        listed: true,
    }),
    reading: Reading {
        import_hops: 4,
        drops_comments: true,
        user_skills_win: true,
        skills: SkillReading {
            called_by: Some(CalledBy::Folder),
            finds_nested: Some(false),
            manual: Some(Manual::Key),
            cuts_description: Some(1_536),
            lists_when_to_use: true,
            scoped_by: &["paths"],
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
    },
    runs_shell_lines: true,
    original_user: &[
        OriginalPlace {
            option: "write_user_commands",
            default: true,
            folder: "commands",
            form: OriginalForm::Commands,
        },
        OriginalPlace { option: "write_user_skills", default: false, folder: "skills", form: OriginalForm::Skills },
    ],
    original_project: &[
        OriginalPlace {
            option: "write_repo_commands",
            default: true,
            folder: ".claude/commands",
            form: OriginalForm::Commands,
        },
        OriginalPlace {
            option: "write_repo_skills",
            default: false,
            folder: ".claude/skills",
            form: OriginalForm::Skills,
        },
    ],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".claude"],
        plugins: &[".claude-plugin"],
        in_plugins: Some(InPlugins { commands: "commands", subagents: "agents", hooks: "hooks" }),
        manifest: Some(Manifest {
            lists: &[
                List { takes_folders: false, ..List::replaces("agents", Holds::Subagents) },
                List::replaces("commands", Holds::Commands),
                List::adds("skills", Holds::Skills),
                List::adds("hooks", Holds::Hooks),
                List::adds("mcpServers", Holds::Servers),
            ],
            is_strict: true,
            needs_dot: true,
            front_names: true,
        }),
        also: &[Also([".claude", "rules"], Role::Instructions, Form::Unread, ".mdc")],
        needs_subagent_name: true,
        files: &[InFolder { folder: ".claude", name: "CLAUDE.md", names_folder: true }],
        instructions: &["CLAUDE.md", "CLAUDE.local.md"],
        kept: &[
            AgentOnlyFile { kind: Kind::Hook, at: At::Below(&[".claude", "hooks"]) },
            AgentOnlyFile { kind: Kind::Hook, at: At::In(&["hooks.json"], &[".claude"]) },
            AgentOnlyFile { kind: Kind::Servers, at: At::Anywhere(&[".claude.json"]) },
            AgentOnlyFile { kind: Kind::Settings, at: At::In(&["settings.json", "settings.local.json"], &[".claude"]) },
            AgentOnlyFile { kind: Kind::Ignore, at: At::Anywhere(&[".claudeignore"]) },
        ],
        ..Imports::NONE
    },
};
