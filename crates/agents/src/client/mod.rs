//! The agents on the user's machine: the entry that makes each of them start mcpkg, written into the agent's own
//! configuration and taken out again, and whether it works.

mod address;
mod agent;
mod agents;
mod binary;
mod check;
mod config_file;
#[cfg(test)]
mod edits;
mod entry;
mod entry_name;
mod file;
mod health;
mod homes;
mod operations;
mod our_entry;
mod record;
mod runs;
mod standing;
mod trail;

use mcpkg_core::op::Domain;

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "client";

/// Returns the file in which an agent reads the MCP servers of the user; `None` for an agent that is not known.
///
/// # Errors
/// `E_ROOT_REQUIRED` where HOME is not set.
pub fn user_file(agent: &str) -> mcpkg_base::error::Result<Option<std::path::PathBuf>> {
    let homes = homes::Homes::find()?;
    let name = agent.replace('_', "-");
    Ok(agents::ALL.iter().find(|agent| agent.name == name).map(|agent| (agent.user_file)(&homes)))
}

/// Returns an agent's file of MCP servers below the folder of a project, by its name with `_`; `None` if it reads none.
pub fn project_file(agent: &str, root: &std::path::Path) -> Option<std::path::PathBuf> {
    let name = agent.replace('_', "-");
    let agent = agents::ALL.iter().find(|agent| agent.name == name)?;
    agent.project_file.map(|file| file(root))
}

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "client",
    operations: &[operations::OPS],
    commands: &[("client", "Connect the agents on this machine: Claude Code, Codex, Cursor, VS Code and others")],
    health: health::health,
    ..Domain::EMPTY
};
