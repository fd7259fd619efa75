//! Windsurf, called Devin Desktop since June 2026, which still reads these folders.

use super::facts::{AgentsMd, Commands, Facts, FolderFile, OwnInstructions, ProjectPlaces, Reading, Rules, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::rule::WINDSURF;

/// Rules apply always, for globs, by their description, or by hand.
const RULES: Rules = Rules { folder: ".windsurf/rules", ending: ".md", format: &WINDSURF };

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "windsurf",
    in_contract: false,
    title: "Windsurf",
    also_called: &["devin"],
    own_folder: ".codeium/windsurf",
    moved_by: None,
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: ".windsurf/rules",
        lists_extras: true,
        agents_md: AgentsMd::Always,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[".windsurfrules"],
        own_instructions: Some(OwnInstructions::Rules(RULES)),
        scoped_rules: Some(RULES),
        also_reads: &[],
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".windsurf/skills",
        also_skills: &[".devin/skills"],
        commands: Commands::FilesInWords {
            folder: ".windsurf/workflows",
            nested: false,
            max_characters: WINDSURF.max_characters,
        },
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("memories/global_rules.md"),
        max_characters: Some(6_000),
        scoped_rules: None,
        skills: ".codeium/windsurf/skills",
        also_skills: &[".config/devin/skills"],
        commands: Commands::Skills,
    },
    subagents: None,
    reading: Reading::PLAIN,
    runs_shell_lines: false,
    original_user: &[],
    original_project: &[],
    no_longer_read: &[],
});
