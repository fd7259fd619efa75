//! Defines the kinds of modules.

use serde::{Deserialize, Serialize};

/// What a module is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Kind {
    /// Text that an agent reads at the start of each session.
    Instructions,
    /// A skill: a folder with a SKILL.md file.
    Skill,
    /// A prompt file for Codex or VS Code.
    Prompt,
    /// A slash command.
    Command,
    /// Instructions for a subagent: an agent that another agent calls. Allowed only in projects.
    #[serde(skip_deserializing)]
    #[value(skip)]
    Subagent,
    /// The entry of an MCP server in an agent's config file. Allowed only in projects.
    #[serde(skip_deserializing)]
    #[value(skip)]
    McpServer,
    /// A file for only one agent, such as its hooks. Allowed only in projects.
    #[serde(skip_deserializing)]
    #[value(skip)]
    AgentFile,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Instructions,
        Kind::Skill,
        Kind::Prompt,
        Kind::Command,
        Kind::Subagent,
        Kind::McpServer,
        Kind::AgentFile,
    ];

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the kind's name. Kinds of contract 000 have the contract's names.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Instructions => "instructions",
            Kind::Skill => "skill",
            Kind::Prompt => "prompt",
            Kind::Command => "command",
            Kind::Subagent => "subagent",
            Kind::McpServer => "mcp_server",
            Kind::AgentFile => "agent_file",
        }
    }
}
