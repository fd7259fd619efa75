//! Describes Codex, OpenAI's command line and extension.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url};
use super::headless::{self, Attach, Headless};
use super::imports::{AgentOnlyFile, Also, At, Form, Holds, Imports, List, Manifest, Role};
use super::places::{AgentsMd, CalledBy, Commands, FolderFile, Manual, MovedBy, OriginalForm, OriginalPlace, ProjectPlaces, Reading, SkillReading, Subagents, UserPlaces};
use crate::forms::skill::Fault;
use crate::forms::subagent;
use crate::servers::dialect::{Dialect, EntryForm};
use crate::servers::document::{Document, Format};
use mcpkg_store::agent_files::Kind;
use mcpkg_store::servers::Transport;

pub(super) static AGENT: Agent = Agent {
    name: "codex",
    id: "codex",
    title: "Codex",
    in_contract: true,
    also_called: &[],
    client: Client {
        program: "codex",
        folder: None,
        user_file: |homes| AGENT.folder(homes).join("config.toml"),
        other_file: None,
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
        // Measured with Codex 0.169.
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
        starts_in: |homes, _| AGENT.folder(homes),
        rejects_empty_events: false,
    },
    headless: Some(Headless {
        args: &[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--ephemeral",
            "--sandbox",
            "read-only",
            "-c",
            "features.shell_tool=false",
            "-c",
            "features.multi_agent=false",
            "-c",
            "web_search=\"disabled\"",
        ],
        variables: &[],
        // A file would not work: Codex reads a `.codex` folder only after the user has trusted it.
        attach: Attach::Arguments(|program, args| {
            let settings = [
                format!("command={}", json!(program)),
                format!("args={}", json!(args)),
                "default_tools_approval_mode=\"approve\"".to_owned(),
            ];
            settings.into_iter().flat_map(|setting| ["-c".to_owned(), format!("mcp_servers.mcpkg.{setting}")]).collect()
        }),
        also: "the MCP servers in your configuration, and those of its own tools that run no commands",
        read: |line| match (line["type"].as_str(), line["item"]["type"].as_str()) {
            (Some("item.completed"), Some("agent_message")) => {
                headless::text(&line["item"]["text"]).into_iter().collect()
            }
            (Some("turn.failed"), _) => headless::error(&line["error"]["message"]),
            _ => Vec::new(),
        },
    }),
    servers: Dialect {
        document: Document::new(Format::Toml, "mcp_servers"),
        project: Some(".codex/config.toml"),
        keeps: Some(&["mcp_servers", "hooks"]),
        form: EntryForm::Codex,
        speaks: &[Transport::Stdio, Transport::Http],
        cwd: true,
        switch: Some(("enabled", true)),
        ..Dialect::COMMON
    },
    own_folder: ".codex",
    moved_by: Some(MovedBy { variable: "CODEX_HOME", option: "codex_home" }),
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: "",
        lists_extras: false,
        agents_md: AgentsMd::Always,
        agents_md_limit: Some(32_768),
        agents_md_override: Some("AGENTS.override.md"),
        always_loaded: &[],
        own_instructions: None,
        scoped_rules: None,
        also_reads: &[],
        // Codex reads these files if it is started in their folder or below.
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".agents/skills",
        also_skills: &[".codex/skills"],
        commands: Commands::Skills,
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("AGENTS.md"),
        max_characters: None,
        scoped_rules: None,
        skills: ".agents/skills",
        also_skills: &[".codex/skills"],
        commands: Commands::Skills,
    },
    subagents: Some(Subagents {
        project: ".codex/agents",
        user: Some("agents"),
        ending: ".toml",
        form: subagent::CODEX,
        takes_plain: false,
        listed: false,
    }),
    reading: Reading {
        skills: SkillReading {
            called_by: Some(CalledBy::Name),
            called_by_dollar: true,
            finds_nested: Some(true),
            rejects: &[Fault::Mark],
            manual: Some(Manual::OpenaiYaml),
            needs_description: true,
            cuts_description: Some(1_024),
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
    },
    runs_shell_lines: false,
    original_user: &[
        OriginalPlace {
            option: "write_agents_global",
            default: true,
            folder: "",
            form: OriginalForm::Instructions("AGENTS.md"),
        },
        OriginalPlace {
            option: "write_user_prompts",
            default: true,
            folder: "prompts",
            form: OriginalForm::Prompts,
        },
        OriginalPlace { option: "write_user_skills", default: true, folder: "skills", form: OriginalForm::Skills },
    ],
    original_project: &[
        OriginalPlace {
            option: "write_agents_repo_root",
            default: true,
            folder: "",
            form: OriginalForm::Instructions("AGENTS.md"),
        },
        OriginalPlace {
            option: "write_repo_skills",
            default: true,
            folder: ".codex/skills",
            form: OriginalForm::Skills,
        },
    ],
    no_longer_read: &["prompts"],
    imports: Imports {
        folders: &[".codex"],
        plugins: &[".codex-plugin"],
        manifest: Some(Manifest {
            lists: &[
                List::replaces("skills", Holds::Skills),
                List::replaces("hooks", Holds::Hooks),
                List::replaces("mcpServers", Holds::Servers),
            ],
            is_strict: false,
            needs_dot: true,
            front_names: true,
        }),
        also: &[Also([".codex", "prompts"], Role::Prompt, Form::Plain, ".md")],
        counts_from_one: true,
        instructions: &["AGENTS.override.md"],
        kept: &[
            AgentOnlyFile { kind: Kind::Permission, at: At::Below(&[".codex", "rules"]) },
            AgentOnlyFile { kind: Kind::Hook, at: At::In(&["hooks.json"], &[".codex"]) },
        ],
        ..Imports::NONE
    },
};
