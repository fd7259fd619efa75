//! Codex.

use super::facts::{AgentsMd, CalledBy, Commands, Facts, FolderFile, Manual, MovedBy, OriginalForm, OriginalPlace, ProjectPlaces, Reading, SkillReading, Subagents, UserPlaces};
use super::target::Target;
use mcpkg_agents::forms::skill::Fault;
use mcpkg_agents::forms::subagent;
use crate::module::Kind;

pub(super) const TARGET: Target = Target::new(&Facts {
    name: "codex",
    in_contract: true,
    title: "Codex",
    also_called: &[],
    own_folder: ".codex",
    moved_by: Some(MovedBy { variable: "CODEX_HOME", option: "codex_home" }),
    servers_only: false,
    project: ProjectPlaces {
        instructions_folder: "",
        lists_extras: false,
        agents_md: AgentsMd::Always,
        agents_md_limit: Some(32_768),
        agents_md_override: Some("AGENTS.override.md"),
        always_loaded: &[],
        own_instructions: None,
        scoped_rules: None,
        also_reads: &[],
        // Read where Codex is started in the folder or below.
        folder_files: &[FolderFile { name: "AGENTS.md", hidden_by: &[] }],
        skills: ".agents/skills",
        also_skills: &[".codex/skills"],
        commands: Commands::Skills,
        prompt_files: None,
    },
    user: UserPlaces {
        instructions: Some("AGENTS.md"),
        max_characters: None,
        scoped_rules: None,
        skills: ".agents/skills",
        also_skills: &[".codex/skills"],
        commands: Commands::Skills,
    },
    subagents: Some(Subagents {
        project: ".codex/agents",
        user: Some("agents"),
        ending: ".toml",
        form: subagent::CODEX,
        takes_plain: false,
        listed: false,
    }),
    reading: Reading {
        skills: SkillReading {
            called_by: Some(CalledBy::Name),
            called_by_dollar: true,
            finds_nested: Some(true),
            rejects: &[Fault::Mark],
            manual: Some(Manual::OpenaiYaml),
            needs_description: true,
            cuts_description: Some(1_024),
            ..SkillReading::UNKNOWN
        },
        ..Reading::PLAIN
    },
    runs_shell_lines: false,
    original_user: &[
        OriginalPlace {
            option: "write_agents_global",
            default: true,
            folder: "",
            form: OriginalForm::Instructions("AGENTS.md"),
        },
        OriginalPlace {
            option: "write_user_prompts",
            default: true,
            folder: "prompts",
            form: OriginalForm::Files(Kind::Prompt),
        },
        OriginalPlace { option: "write_user_skills", default: true, folder: "skills", form: OriginalForm::Skills },
    ],
    original_project: &[
        OriginalPlace {
            option: "write_agents_repo_root",
            default: true,
            folder: "",
            form: OriginalForm::Instructions("AGENTS.md"),
        },
        OriginalPlace {
            option: "write_repo_skills",
            default: true,
            folder: ".codex/skills",
            form: OriginalForm::Skills,
        },
    ],
    no_longer_read: &["prompts"],
});
