//! Claude Code.

use super::facts::{AgentsMd, CalledBy, Commands, Facts, FolderFile, Manual, OriginalForm, OriginalPlace, OwnInstructions, ProjectPlaces, Reading, Rules, SkillReading, Subagents, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::subagent;
use mcpkg_agents::forms::rule::CLAUDE_CODE;
use crate::module::Kind;

/// What keeps it from reading AGENTS.md.
const HIDING: &[&str] = &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];

/// Rules apply always, or where a file that `paths` names is read.
const RULES: Rules = Rules {
    folder: ".claude/rules",
    ending: ".md",
    format: &CLAUDE_CODE,
};

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "claude_code",
    in_contract: true,
    title: "Claude Code",
    also_called: &["claude"],
    own_folder: ".claude",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".claude/rules",
        lists_extras: true,
        agents_md: AgentsMd::UnlessHiddenBy(HIDING),
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: HIDING }],
        skills: ".claude/skills",
        also_skills: &[],
        commands: Commands::Files(".claude/commands"),
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("CLAUDE.md"),
        max_characters: None,
        scoped_rules: Some(RULES),
        skills: ".claude/skills",
        also_skills: &[],
        commands: Commands::Files(".claude/commands"),
    },
    subagents: Some(Subagents {
        project: ".claude/agents",
        user: Some("agents"),
        ending: ".md",
        form: subagent::CLAUDE_CODE,
        takes_plain: true,
        listed: true,
    }),
    reading: Reading {
        import_hops: 4,
        drops_comments: true,
        user_skills_win: true,
        skills: SkillReading {
            called_by: Some(CalledBy::Folder),
            finds_nested: Some(false),
            manual: Some(Manual::Key),
            cuts_description: Some(1_536),
            lists_when_to_use: true,
            scoped_by: &["paths"],
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
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
