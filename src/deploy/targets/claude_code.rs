//! Claude Code.

use super::facts::{
    AgentsMd, Commands, Facts, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Rules, ScopedRules,
    UserPlaces,
};
use super::target::Target;
use crate::deploy::module::Kind;

/// Claude Code.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "claude_code",
    title: "Claude Code",
    own_folder: ".claude",
    moved_by: None,
    project: ProjectPlaces {
        instructions_folder: ".claude/rules",
        lists_extras: true,
        agents_md: AgentsMd::UnlessHiddenBy("CLAUDE.md"),
        own_instructions: Some(OwnInstructions::Rules(Rules {
            folder: ".claude/rules",
            extension: "md",
            cursor_front_matter: false,
        })),
        scoped_rules: Some(ScopedRules { globs: "paths", always: None }),
        skills: ".claude/skills",
        commands: Commands::Files(".claude/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("CLAUDE.md"),
        skills: ".claude/skills",
        commands: Commands::Files(".claude/commands"),
    },
    runs_shell_lines: true,
    original_user: &[
        OriginalPlace {
            option: "write_user_commands",
            default: true,
            folder: "commands",
            form: OriginalForm::Files(Kind::Command),
        },
        OriginalPlace { option: "write_user_skills", default: false, folder: "skills", form: OriginalForm::Skills },
    ],
    original_project: &[
        OriginalPlace {
            option: "write_repo_commands",
            default: true,
            folder: ".claude/commands",
            form: OriginalForm::Files(Kind::Command),
        },
        OriginalPlace {
            option: "write_repo_skills",
            default: false,
            folder: ".claude/skills",
            form: OriginalForm::Skills,
        },
    ],
    no_longer_read: &[],
});
