//! Gemini CLI.

use super::facts::{AgentsMd, CalledBy, Commands, Facts, FolderFile, Manual, OwnInstructions, ProjectPlaces, Reading, SkillReading, Subagents, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::skill::Fault;
use mcpkg_agents::forms::subagent;

/// It reads GEMINI.md alone, which can import AGENTS.md.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "gemini",
    in_contract: false,
    title: "Gemini CLI",
    also_called: &[],
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
        // Read when a file there is.
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
});
