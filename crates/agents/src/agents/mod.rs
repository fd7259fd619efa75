//! Describes the coding agents. Each agent has one file with the facts about it, in the types of [`agent`],
//! [`places`] and [`imports`].
//!
//! To add an agent, write its file and list it here; all other code finds it through this module.

pub mod agent;
pub mod cline;
pub mod headless;
pub mod homes;
pub mod imports;
pub mod open_plugins;
pub mod places;

use std::sync::LazyLock;

pub use agent::Agent;

use crate::servers::dialect::Dialect;
use mcpkg_base::error::{Code, Error, Result};

/// Declares the agents' modules and lists the agents in display order.
macro_rules! agents {
    ($($agent:ident),* $(,)?) => {
        $(mod $agent;)*

        /// All agents, in display order.
        pub const ALL: &[&Agent] = &[$(&$agent::AGENT),*];
    };
}

agents!(claude_code, claude_desktop, codex, cursor, vscode, windsurf, gemini, copilot, opencode, antigravity, kiro);

const _: () = {
    let mut at = 0;
    while at < ALL.len() {
        assert!(
            ALL[at].has_place_for_instructions(),
            "an agent that may not read AGENTS.md needs an instructions file of its own; see has_place_for_instructions"
        );
        at += 1;
    }
};

/// Returns the agents' names on a command line.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|agent| agent.name)
}

/// Finds an agent by its name on a command line.
pub fn named(name: &str) -> Result<&'static Agent> {
    ALL.iter().copied().find(|agent| agent.name == name).ok_or_else(|| {
        let error = Error::new(Code::TargetUnsupported, format!("There is no agent '{name}'"));
        error.suggest(name, names(), format!("the agents are {}", names().collect::<Vec<_>>().join(", ")))
    })
}

/// Returns all agents, sorted by id.
pub fn by_id() -> &'static [&'static Agent] {
    static BY_ID: LazyLock<Vec<&Agent>> = LazyLock::new(|| {
        let mut agents = ALL.to_vec();
        agents.sort_by_key(|agent| agent.id);
        agents
    });
    &BY_ID
}

/// Finds an agent by its id, such as `claude_code`.
pub fn with_id(id: &str) -> Option<&'static Agent> {
    ALL.iter().copied().find(|agent| agent.id == id)
}

/// Finds the agent that has a project folder with this name, such as `.cursor`.
pub fn with_folder(name: &str) -> Option<&'static Agent> {
    ALL.iter().copied().find(|agent| agent.imports.folders.contains(&name))
}

/// An Agent Plugin may have folders that only one agent reads, such as `com.github.copilot/`. Returns that agent for
/// a file in such a folder.
pub fn client_of(path: &str) -> Option<&'static Agent> {
    let (folders, _) = path.rsplit_once('/')?;
    let of = |folder: &str| ALL.iter().copied().find(|agent| agent.imports.namespace == Some(folder));
    folders.split('/').filter(|folder| folder.contains('.')).find_map(of)
}

/// Returns the format of the MCP servers of the agent with this id, or of Agent Plugins.
pub fn dialect_of(id: &str) -> Option<&'static Dialect> {
    if id == open_plugins::ID {
        return Some(&open_plugins::DIALECT);
    }
    with_id(id).map(|agent| &agent.servers)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::agent::{Key, Url};
    use super::*;

    #[test]
    fn every_agent_has_a_name_of_its_own() {
        for (at, agent) in ALL.iter().enumerate() {
            assert!(!ALL[at + 1..].contains(agent), "{}", agent.name);
            assert_eq!(agent.name.replace('-', "_"), agent.id);
            assert!(named(agent.name).is_ok_and(|found| found == *agent));
        }
        let error = named("claude-cod").expect_err("no agent");
        assert_eq!(error.hints(), ["did you mean 'claude-code'?"]);
    }

    #[test]
    fn a_projects_file_is_in_the_project() {
        let root = Path::new("/code/p");
        for agent in ALL {
            assert!(agent.project_file(root).is_none_or(|file| file.starts_with(root)), "{}", agent.name);
        }
    }

    #[test]
    fn a_projects_file_is_the_one_that_the_agent_reads() {
        for (name, file) in [
            ("claude-code", "/code/p/.mcp.json"),
            ("codex", "/code/p/.codex/config.toml"),
            ("vscode", "/code/p/.vscode/mcp.json"),
        ] {
            let found = named(name).expect("an agent").project_file(Path::new("/code/p"));
            assert_eq!(found.as_deref(), Some(Path::new(file)), "{name}");
        }
    }

    #[test]
    fn facts_that_are_written_as_text_are_well_formed() {
        for agent in ALL {
            let start = (agent.client.start)("/m", &["serve".to_owned()]);
            assert!(start["command"].to_string().contains("/m"), "{}", agent.name);
            if let Url::Entry { field, fields, key } = agent.client.url {
                assert_eq!(fields("http://a")[field], "http://a", "{}", agent.name);
                assert!(!matches!(key, Key::Header(form) if form.matches("NAME").count() != 1), "{}", agent.name);
            }
        }
    }
}
