//! Describes Visual Studio Code with Copilot.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_home};
use super::imports::{Also, At, Form, Imports, InFolder, AgentOnlyFile, Role};
use super::places::{AgentsMd, Commands, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Reading, Rules, Subagents, UserPlaces};
use crate::forms::rule::COPILOT;
use crate::forms::subagent;
use crate::servers::dialect::Dialect;
use crate::servers::document::{Document, Format};
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;

pub(super) static AGENT: Agent = Agent {
    name: "vscode",
    id: "vscode",
    title: "VS Code",
    in_contract: true,
    also_called: &["copilot"],
    client: Client {
        program: "code",
        folder: Some(|homes| homes.config.join("Code")),
        user_file: |homes| AGENT.folder(homes).join("User").join("mcp.json"),
        other_file: None,
        start: |program, args| json!({ "type": "stdio", "command": program, "args": args }),
        url: Url::Entry {
            field: "url",
            fields: |url| json!({ "type": "http", "url": url }),
            key: Key::Header("${env:NAME}"),
        },
        other_fields: &[],
        next: "start the server with `MCP: List Servers` in VS Code's command palette",
        trust: None,
        greeting: Greeting::Initialize("2025-11-25"),
        passes: None,
        starts_in: in_home,
        rejects_empty_events: false,
    },
    headless: None,
    servers: Dialect {
        document: Document::new(Format::Json { comments: true }, "servers"),
        project: Some(".vscode/mcp.json"),
        expansion: Expansion { inputs: true, ..Expansion::NAMED },
        types: (Some("stdio"), true),
        cwd: true,
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
        always_loaded: &[".github/copilot-instructions.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
        own_instructions: Some(OwnInstructions::Block { folder: ".github", file: "copilot-instructions.md" }),
        // Copilot CLI also reads this folder, and always loads a file without `applyTo`. So this format cannot express "by
        // description" or "manual".
        scoped_rules: Some(Rules {
            folder: ".github/instructions",
            ending: ".instructions.md",
            format: &COPILOT,
        }),
        also_reads: &[".claude/rules"],
        folder_files: &[],
        skills: ".agents/skills",
        also_skills: &[".github/skills", ".claude/skills"],
        commands: Commands::Skills,
        prompt_files: Some(".github/prompts"),
    },
    user: UserPlaces { instructions: None,
        max_characters: None, scoped_rules: None, skills: ".agents/skills", also_skills: &[".copilot/skills", ".claude/skills"], commands: Commands::Skills },
    subagents: Some(Subagents {
        project: ".github/agents",
        user: None,
        ending: ".agent.md",
        form: subagent::VSCODE,
        takes_plain: false,
        listed: false,
    }),
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[
        OriginalPlace {
            option: "write_instructions",
            default: true,
            folder: ".github",
            form: OriginalForm::Instructions("copilot-instructions.md"),
        },
        OriginalPlace {
            option: "write_prompts",
            default: true,
            folder: ".github/prompts",
            form: OriginalForm::PromptFiles,
        },
    ],
    no_longer_read: &[".github/prompts"],
    imports: Imports {
        folders: &[".github", ".vscode"],
        also: &[Also([".github", "chatmodes"], Role::Subagent, Form::Plain, ".md")],
        files: &[InFolder { folder: ".github", name: "copilot-instructions.md", names_folder: false }],
        endings: &[
            (Role::Prompt, Form::Plain, ".prompt.md"),
            (Role::Instructions, Form::Rule(&COPILOT), ".instructions.md"),
            (Role::Subagent, Form::Plain, ".agent.md"),
            (Role::Subagent, Form::Plain, ".chatmode.md"),
        ],
        kept: &[AgentOnlyFile { kind: Kind::Hook, at: At::Below(&[".github", "hooks"]) }],
        ..Imports::NONE
    },
};
