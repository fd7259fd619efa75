//! OpenCode.

use super::facts::{AgentsMd, CalledBy, Commands, Facts, FolderFile, Manual, ProjectPlaces, Reading, SkillReading, Subagents, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::subagent;

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "opencode",
    in_contract: false,
    title: "OpenCode",
    also_called: &[],
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
        // Read when a file there is.
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
});
