//! Describes OpenCode.

use serde_json::json;

use super::agent::{Agent, Client, Greeting, Key, Url, in_working_folder};
use super::headless::{self, Attach, Headless, Said};
use super::imports::{Also, At, Form, Imports, AgentOnlyFile, Role};
use super::places::{AgentsMd, CalledBy, Commands, FolderFile, Manual, ProjectPlaces, Reading, SkillReading, Subagents, UserPlaces};
use crate::forms::subagent;
use crate::servers::dialect::{Dialect, EntryForm};
use crate::servers::document::{Document, Format};
use crate::servers::expansion::Expansion;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::servers::Transport;

pub(super) static AGENT: Agent = Agent {
    name: "opencode",
    id: "opencode",
    title: "OpenCode",
    in_contract: false,
    also_called: &[],
    client: Client {
        program: "opencode",
        folder: Some(|homes| homes.xdg.join("opencode")),
        user_file: |homes| AGENT.folder(homes).join("opencode.json"),
        other_file: Some("opencode.jsonc"),
        start: |program, args| {
            let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
            json!({ "type": "local", "command": words })
        },
        url: Url::Entry {
            field: "url",
            fields: |url| json!({ "type": "remote", "url": url }),
            key: Key::Header("{env:NAME}"),
        },
        other_fields: &[],
        next: "check the server with `opencode mcp list`; restart running sessions to load the server",
        trust: None,
        greeting: Greeting::Initialize("2025-11-25"),
        passes: None,
        starts_in: in_working_folder,
        rejects_empty_events: false,
    },
    headless: Some(Headless {
        args: &["run", "--format", "json"],
        variables: &[],
        attach: Attach::File {
            name: "opencode.json",
            content: |entry| {
                json!({ "mcp": { "mcpkg": entry }, "permission": { "*": "deny", "mcpkg_*": "allow" } })
            },
        },
        also: "none of its own tools",
        read: |line| match line["type"].as_str() {
            Some("text") => headless::text(&line["part"]["text"]).into_iter().collect(),
            Some("step_finish") => line["part"]["cost"].as_f64().map(Said::Cost).into_iter().collect(),
            Some("error") => headless::error(&line["error"]["data"]["message"]),
            _ => Vec::new(),
        },
    }),
    servers: Dialect {
        document: Document::new(Format::Json { comments: true }, "mcp"),
        project: Some("opencode.json"),
        keeps: Some(&["$schema", "mcp"]),
        expansion: Expansion { named: Some("{env:"), files: true, ..Expansion::NONE },
        form: EntryForm::OpenCode,
        speaks: &[Transport::Stdio, Transport::Http],
        switch: Some(("enabled", true)),
        ..Dialect::COMMON
    },
    own_folder: ".config/opencode",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: "",
        lists_extras: false,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[],
        own_instructions: None,
        scoped_rules: None,
        also_reads: &[],
        // OpenCode reads these files when it reads a file in their folder.
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".agents/skills",
        also_skills: &[".opencode/skills", ".opencode/skill", ".claude/skills"],
        commands: Commands::Numbered(".opencode/command"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("AGENTS.md"),
        max_characters: None,
        scoped_rules: None,
        skills: ".agents/skills",
        also_skills: &[".config/opencode/skills", ".claude/skills"],
        commands: Commands::Numbered(".config/opencode/command"),
    },
    subagents: Some(Subagents {
        project: ".opencode/agent",
        user: Some("agent"),
        ending: ".md",
        form: subagent::OPENCODE,
        takes_plain: false,
        listed: true,
    }),
    reading: Reading {
        skills: SkillReading {
            called_by: Some(CalledBy::Name),
            finds_nested: Some(true),
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
        folders: &[".opencode"],
        also: &[
            Also([".opencode", "commands"], Role::Prompt, Form::Plain, ".md"),
            Also([".opencode", "agents"], Role::Subagent, Form::Plain, ".md"),
        ],
        counts_from_one: true,
        kept: &[
            AgentOnlyFile { kind: Kind::Hook, at: At::Below(&[".opencode", "plugin"]) },
            AgentOnlyFile { kind: Kind::Hook, at: At::Below(&[".opencode", "plugins"]) },
            AgentOnlyFile { kind: Kind::Servers, at: At::Anywhere(&["opencode.jsonc"]) },
        ],
        ..Imports::NONE
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_jsonc_file_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = || AGENT.project_file(folder.path()).expect("a file");
        assert!(file().ends_with("opencode.json"));
        std::fs::write(folder.path().join("opencode.jsonc"), "{}").expect("a file");
        assert!(file().ends_with("opencode.jsonc"));
    }
}
