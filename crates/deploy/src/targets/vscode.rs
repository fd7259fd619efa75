//! VS Code.

use super::facts::{
    AgentsMd, Commands, Facts, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Reading,
    Rules, Subagents, UserPlaces,
};
use super::target::Target;
use mcpkg_agents::forms::subagent;
use mcpkg_agents::forms::rule::COPILOT;

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "vscode",
    in_contract: true,
    title: "VS Code",
    also_called: &["copilot"],
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
        // Without `applyTo` Copilot's command line loads them always: by description and by hand cannot be said.
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
});
