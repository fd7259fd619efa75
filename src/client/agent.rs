//! The agents, and what is different about each.

use crate::error::{Code, Error, Result};

/// An agent whose configuration can take an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Anthropic's command line.
    ClaudeCode,
    /// Anthropic's desktop application.
    ClaudeDesktop,
    /// OpenAI's command line and extension.
    Codex,
    /// Cursor.
    Cursor,
    /// Visual Studio Code with Copilot.
    Vscode,
    /// Windsurf.
    Windsurf,
    /// Google's command line.
    Gemini,
    /// GitHub's command line.
    Copilot,
    /// OpenCode.
    Opencode,
}

/// How an agent's file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON; with comments and trailing commas where the agent reads them.
    Json {
        /// Whether the agent's own reader takes comments and trailing commas.
        comments: bool,
    },
    /// TOML.
    Toml,
}

impl Agent {
    /// Every agent, in the order that users see.
    pub const ALL: [Agent; 9] = [
        Agent::ClaudeCode,
        Agent::ClaudeDesktop,
        Agent::Codex,
        Agent::Cursor,
        Agent::Vscode,
        Agent::Windsurf,
        Agent::Gemini,
        Agent::Copilot,
        Agent::Opencode,
    ];

    /// Their names on a command line.
    pub const NAMES: [&'static str; 9] =
        ["claude-code", "claude-desktop", "codex", "cursor", "vscode", "windsurf", "gemini", "copilot", "opencode"];

    /// Returns the agent of a name.
    ///
    /// # Errors
    /// `E_TARGET_UNSUPPORTED`.
    pub fn named(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name).ok_or_else(|| {
            let error = Error::new(Code::TargetUnsupported, format!("There is no agent '{name}'"));
            error.suggest(name, Self::NAMES, format!("the agents are {}", Self::NAMES.join(", ")))
        })
    }

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().zip(Self::NAMES).find(|(agent, _)| *agent == self).map_or("", |(_, name)| name)
    }

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "Claude Code",
            Agent::ClaudeDesktop => "Claude Desktop",
            Agent::Codex => "Codex",
            Agent::Cursor => "Cursor",
            Agent::Vscode => "VS Code",
            Agent::Windsurf => "Windsurf",
            Agent::Gemini => "Gemini CLI",
            Agent::Copilot => "Copilot CLI",
            Agent::Opencode => "OpenCode",
        }
    }

    /// The program that tells that it is installed.
    pub const fn program(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude",
            Agent::ClaudeDesktop => "claude-desktop",
            Agent::Codex => "codex",
            Agent::Cursor => "cursor",
            Agent::Vscode => "code",
            Agent::Windsurf => "windsurf",
            Agent::Gemini => "gemini",
            Agent::Copilot => "copilot",
            Agent::Opencode => "opencode",
        }
    }

    /// How its file is written.
    pub const fn format(self) -> Format {
        match self {
            Agent::Codex => Format::Toml,
            Agent::Vscode | Agent::Cursor | Agent::Gemini | Agent::Opencode => Format::Json { comments: true },
            Agent::ClaudeCode | Agent::ClaudeDesktop | Agent::Windsurf | Agent::Copilot => {
                Format::Json { comments: false }
            }
        }
    }

    /// The key that holds the servers.
    pub const fn key(self) -> &'static str {
        match self {
            Agent::Codex => "mcp_servers",
            Agent::Vscode => "servers",
            Agent::Opencode => "mcp",
            _ => "mcpServers",
        }
    }

    /// What a user does so that the agent reads the entry.
    pub const fn next(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "`claude mcp list` shows it; sessions that run see it after a restart",
            Agent::Codex => "`codex mcp list` shows it; sessions that run see it after a restart",
            Agent::Gemini => {
                "`gemini mcp list` shows it, in a folder that Gemini CLI trusts; restart sessions that run"
            }
            Agent::Opencode => "`opencode mcp list` shows it; sessions that run see it after a restart",
            Agent::Copilot => "`/mcp show` in Copilot CLI shows it; sessions that run see it after a restart",
            Agent::ClaudeDesktop => "quit Claude Desktop and start it again",
            Agent::Cursor => "Cursor's settings list it under MCP, where it is turned on",
            Agent::Vscode => "`MCP: List Servers` in VS Code's command palette starts it",
            Agent::Windsurf => "refresh the MCP servers in Windsurf's Cascade panel",
        }
    }

    /// What a user does besides, where the entry is the project's.
    pub const fn trust(self) -> Option<&'static str> {
        match self {
            Agent::ClaudeCode => Some("Claude Code asks once in this folder whether to use the project's servers"),
            Agent::Codex => Some("Codex reads a project's config.toml only in a folder that it was told to trust"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_name_of_its_own() {
        for agent in Agent::ALL {
            assert_eq!(Agent::named(agent.name()).ok(), Some(agent));
        }
        let error = Agent::named("claude-cod").expect_err("no agent");
        assert_eq!(error.hints(), ["did you mean 'claude-code'?"]);
    }
}
