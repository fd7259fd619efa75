//! Cursor.

use super::facts::{AgentsMd, Commands, Facts, FolderFile, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Reading, Rules, SkillReading, Subagents, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::subagent;
use mcpkg_agents::forms::rule::CURSOR;

/// Rules apply always, for globs, by their description, or by hand; Cursor reads their front matter line by line.
const RULES: Rules = Rules {
    folder: ".cursor/rules",
    ending: ".mdc",
    format: &CURSOR,
};

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "cursor",
    in_contract: true,
    title: "Cursor",
    also_called: &[],
    own_folder: ".cursor",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".cursor/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[".cursorrules"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".agents/skills",
        also_skills: &[".cursor/skills"],
        commands: Commands::FilesInWords { folder: ".cursor/commands", nested: true, max_characters: None },
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: None,
        max_characters: None,
        scoped_rules: None,
        skills: ".cursor/skills",
        also_skills: &[".agents/skills"],
        commands: Commands::FilesInWords { folder: ".cursor/commands", nested: true, max_characters: None },
    },
    subagents: Some(Subagents {
        project: ".cursor/agents",
        user: None,
        ending: ".md",
        form: subagent::CURSOR,
        takes_plain: false,
        listed: false,
    }),
    reading: Reading {
        skills: SkillReading {
            always_applies: true,
            needs_description: true,
            cuts_description: Some(1_536),
            scoped_by: &["paths", "globs"],
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
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
