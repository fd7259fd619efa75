//! Describes Gemini CLI, Google's command line.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_working_folder};
use super::headless::{self, Attach, Headless, Said};
use super::imports::{At, Imports, AgentOnlyFile};
use super::places::{AgentsMd, CalledBy, Commands, FolderFile, Manual, OwnInstructions, ProjectPlaces, Reading, SkillReading, Subagents, UserPlaces};
use crate::forms::skill::Fault;
use crate::forms::subagent;
use crate::servers::dialect::Dialect;
use crate::servers::document::{Document, Format};
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::servers::Transport;

/// The only file of instructions that Gemini reads by itself is GEMINI.md, which can import AGENTS.md.
pub(super) static AGENT: Agent = Agent {
    name: "gemini",
    id: "gemini",
    title: "Gemini CLI",
    in_contract: false,
    also_called: &[],
    client: Client {
        program: "gemini",
        folder: None,
        user_file: |homes| AGENT.folder(homes).join("settings.json"),
        other_file: None,
        start: |program, args| json!({ "command": program, "args": args }),
        url: Url::Entry { field: "httpUrl", fields: |url| json!({ "httpUrl": url }), key: Key::Header("$NAME") },
        other_fields: &[],
        next: "check the server with `gemini mcp list` in a folder that Gemini CLI trusts; restart running sessions to load the server",
        trust: None,
        greeting: Greeting::Initialize("2025-06-18"),
        passes: None,
        starts_in: in_working_folder,
        rejects_empty_events: true,
    },
    headless: Some(Headless {
        args: &["--output-format", "stream-json", "--allowed-mcp-server-names", "mcpkg"],
        // Gemini ignores the settings of a folder that it does not trust.
        variables: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        attach: Attach::File {
            name: ".gemini/settings.json",
            content: |mut entry| {
                entry["trust"] = json!(true);
                json!({ "mcpServers": { "mcpkg": entry } })
            },
        },
        also: "those of its own tools that need no permission",
        read: |line| match (line["type"].as_str(), line["role"].as_str(), line["content"].as_str()) {
            (Some("message"), Some("assistant"), Some(part)) if line["delta"] == true => {
                vec![Said::Part(part.to_owned())]
            }
            (Some("message"), Some("assistant"), _) => headless::text(&line["content"]).into_iter().collect(),
            (Some("result"), ..) if line["status"] == "error" => headless::error(&line["error"]["message"]),
            _ => Vec::new(),
        },
    }),
    servers: Dialect {
        document: Document::new(Format::Json { comments: true }, "mcpServers"),
        project: Some(".gemini/settings.json"),
        keeps: Some(&["mcpServers", "hooks"]),
        expansion: Expansion::BARE,
        urls: &[("httpUrl", Transport::Http), ("url", Transport::Sse)],
        cwd: true,
        ..Dialect::COMMON
    },
    own_folder: ".gemini",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: "",
        lists_extras: false,
        agents_md: AgentsMd::ImportedBy("GEMINI.md"),
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &["GEMINI.md"],
        own_instructions: Some(OwnInstructions::Block { folder: "", file: "GEMINI.md" }),
        scoped_rules: None,
        also_reads: &[],
        // Gemini reads these files when it reads a file in their folder.
        folder_files: &[FolderFile { name: "GEMINI.md", hidden_by: &[] }],
        skills: ".agents/skills",
        also_skills: &[".gemini/skills"],
        commands: Commands::Toml(".gemini/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("GEMINI.md"),
        max_characters: None,
        scoped_rules: None,
        skills: ".agents/skills",
        also_skills: &[".gemini/skills"],
        commands: Commands::Toml(".gemini/commands"),
    },
    subagents: Some(Subagents {
        project: ".gemini/agents",
        user: Some("agents"),
        ending: ".md",
        form: subagent::GEMINI,
        takes_plain: false,
        listed: false,
    }),
    reading: Reading {
        import_hops: 5,
        renames_commands: true,
        skills: SkillReading {
            called_by: Some(CalledBy::Name),
            finds_nested: Some(false),
            rejects: &[Fault::Mark],
            manual: Some(Manual::Nothing),
            needs_description: true,
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
    },
    runs_shell_lines: true,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
    imports: Imports {
        folders: &[".gemini"],
        instructions: &["GEMINI.md"],
        kept: &[
            AgentOnlyFile { kind: Kind::Permission, at: At::Below(&[".gemini", "policies"]) },
            AgentOnlyFile { kind: Kind::Plugin, at: At::Anywhere(&["gemini-extension.json"]) },
            AgentOnlyFile { kind: Kind::Ignore, at: At::Anywhere(&[".geminiignore"]) },
        ],
        ..Imports::NONE
    },
};
