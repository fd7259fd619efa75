//! Cursor.

use super::facts::{
    AgentsMd, Commands, Facts, FolderFile, GlobList, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces,
    RuleMatter, Rules, SubagentForm, Subagents, ToolNames, UserPlaces,
};
use super::target::Target;

/// Rules apply always, for globs, by their description, or by hand; Cursor reads their front matter line by line.
const RULES: Rules = Rules {
    folder: ".cursor/rules",
    ending: ".mdc",
    matter: RuleMatter { globs: "globs", list: GlobList::Bare, always: Some("alwaysApply"), description: true },
};

/// Cursor.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "cursor",
    title: "Cursor",
    also_called: &[],
    own_folder: ".cursor",
    moved_by: None,
    project: ProjectPlaces {
        instructions_folder: ".cursor/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        always_loaded: &[".cursorrules"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_file: Some(FolderFile { name: "AGENTS.md", hidden_by: None }),
        skills: ".agents/skills",
        commands: Commands::FilesInWords(".cursor/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: None,
        scoped_rules: None,
        skills: ".cursor/skills",
        commands: Commands::FilesInWords(".cursor/commands"),
    },
    subagents: Some(Subagents {
        project: ".cursor/agents",
        user: None,
        ending: ".md",
        form: SubagentForm::Markdown { tools: ToolNames::ReadOnly, quoted: false },
        takes_plain: false,
    }),
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
