//! Claude Code.

use super::facts::{
    AgentsMd, Commands, Facts, FolderFile, GlobList, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces,
    RuleMatter, Rules, SubagentForm, Subagents, ToolNames, UserPlaces,
};
use super::target::Target;
use crate::deploy::module::Kind;

/// Rules apply always, or where a file that `paths` names is read.
const RULES: Rules = Rules {
    folder: ".claude/rules",
    ending: ".md",
    matter: RuleMatter { globs: "paths", list: GlobList::Yaml, always: None, description: false },
};

/// Claude Code.
pub(super) const TARGET: Target = Target::new(&Facts {
    name: "claude_code",
    title: "Claude Code",
    also_called: &["claude"],
    own_folder: ".claude",
    moved_by: None,
    project: ProjectPlaces {
        instructions_folder: ".claude/rules",
        lists_extras: true,
        agents_md: AgentsMd::UnlessHiddenBy("CLAUDE.md"),
        agents_md_limit: None,
        always_loaded: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_file: Some(FolderFile { name: "AGENTS.md", hidden_by: Some("CLAUDE.md") }),
        skills: ".claude/skills",
        commands: Commands::Files(".claude/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("CLAUDE.md"),
        scoped_rules: Some(RULES),
        skills: ".claude/skills",
        commands: Commands::Files(".claude/commands"),
    },
    subagents: Some(Subagents {
        project: ".claude/agents",
        user: Some("agents"),
        ending: ".md",
        form: SubagentForm::Markdown { tools: ToolNames::Claude, quoted: true },
        takes_plain: true,
    }),
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
