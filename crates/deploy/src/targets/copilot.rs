//! Copilot's command line.

use super::facts::{AgentsMd, CalledBy, Commands, Facts, FolderFile, ListedCommands, OwnInstructions, ProjectPlaces, Reading, Rules, SkillReading, Subagents, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::skill::Fault;
use mcpkg_agents::forms::subagent;
use mcpkg_agents::forms::rule::COPILOT;

/// Below the deploy root, it also reads everything that VS Code reads.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "copilot",
    in_contract: false,
    title: "Copilot CLI",
    also_called: &["vscode"],
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
        // Read when a file there is viewed.
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
});
