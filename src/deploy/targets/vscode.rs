//! VS Code.

use super::facts::{
    AgentsMd, Commands, Facts, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, UserPlaces,
};
use super::target::Target;

/// VS Code.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "vscode",
    title: "VS Code",
    own_folder: ".copilot",
    moved_by: None,
    project: ProjectPlaces {
        instructions_folder: ".github",
        lists_extras: false,
        agents_md: AgentsMd::Always,
        own_instructions: Some(OwnInstructions::Block { folder: ".github", file: "copilot-instructions.md" }),
        scoped_rules: None,
        skills: ".agents/skills",
        commands: Commands::Skills,
        prompt_files: Some(".github/prompts"),
    },
    user: UserPlaces { instructions: None, skills: ".agents/skills", commands: Commands::Skills },
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
