//! Cursor.

use super::facts::{
    AgentsMd, Commands, Facts, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Rules, ScopedRules,
    UserPlaces,
};
use super::target::Target;

/// Cursor.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "cursor",
    title: "Cursor",
    own_folder: ".cursor",
    moved_by: None,
    project: ProjectPlaces {
        instructions_folder: ".cursor/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        own_instructions: Some(OwnInstructions::Rules(Rules {
            folder: ".cursor/rules",
            extension: "mdc",
            cursor_front_matter: true,
        })),
        scoped_rules: Some(ScopedRules { globs: "globs", always: Some("alwaysApply") }),
        skills: ".agents/skills",
        commands: Commands::FilesInWords(".cursor/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: None,
        skills: ".cursor/skills",
        commands: Commands::FilesInWords(".cursor/commands"),
    },
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[OriginalPlace {
        option: "write_rules",
        default: true,
        folder: ".cursor/rules",
        form: OriginalForm::CursorRules,
    }],
    no_longer_read: &[],
});
