//! Adds and removes mcpkg's entries in the agents' user-wide files of MCP servers. `mcpkg up` calls such an entry a
//! connection, and records the folder for which it was made.

use std::path::{Path, PathBuf};

use super::config_file::{ConfigFile, Scope, is_installed};
use super::entry::Wanted;
use super::our_entry::DEFAULT_NAME;
use super::our_entry::our_entries;
use super::record::append_event;
use super::standing::Standing;
use crate::agents::homes::Homes;
use crate::agents::{self, Agent};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Identity};

/// An agent's user-wide file of MCP servers, and whether mcpkg is in it.
pub struct Connection {
    pub agent: &'static Agent,
    pub file: PathBuf,
    pub state: State,
}

pub enum State {
    Missing,
    Connected,
    /// The file cannot be read, or another entry already has mcpkg's name. The text is the reason, for people.
    Blocked(String),
}

/// Returns the agents that are installed on this machine.
pub fn installed() -> Result<Vec<&'static Agent>> {
    let homes = Homes::find()?;
    Ok(agents::ALL.iter().copied().filter(|agent| is_installed(agent, &homes)).collect())
}

/// Returns whether an agent is connected. Writes nothing.
pub fn look(context: &Context, agent: &'static Agent) -> Result<Connection> {
    let config = ConfigFile::find(context, agent, Scope::User, None)?;
    let file = config.path.clone();
    let state = match our_entries(context, &config) {
        Err(error) => State::Blocked(error.message().to_owned()),
        Ok(entries) if !entries.is_empty() => State::Connected,
        Ok(_) => match Standing::of(context, config, DEFAULT_NAME)?.entry {
            Some(_) => State::Blocked(format!("it has another entry called '{}'", DEFAULT_NAME)),
            None => State::Missing,
        },
    };
    Ok(Connection { agent, file, state })
}

/// Connects an agent, and records that this was done for a folder.
pub fn connect(context: &Context, agent: &'static Agent, folder: &Path) -> Result<()> {
    // A user-wide entry must not name a project: the agent starts mcpkg in the folder that it works in, and the folder
    // selects the project.
    let mut context = context.clone();
    context.selection.named = None;
    let fields = Wanted::start(&context, Scope::User, Identity::default())?.entry(agent)?;
    let standing = standing(&context, agent)?;
    if let Some(edit) = standing.with(fields)? {
        edit.made_in(folder).apply(&context)?;
        append_event(&context, "client.add", &subject(agent));
    }
    Ok(())
}

/// Returns the agents that [`connect`] connected for a folder and that still have the entry.
pub fn made_in(context: &Context, folder: &Path) -> Result<Vec<Connection>> {
    let mut found = Vec::new();
    for agent in agents::ALL {
        // Skip files that cannot be read.
        let Ok(standing) = standing(context, agent) else { continue };
        let is_made = standing.record.as_ref().is_some_and(|record| record.made_in.as_deref() == Some(folder));
        if is_made && standing.is_ours() {
            found.push(Connection { agent, file: standing.config.path, state: State::Connected });
        }
    }
    Ok(found)
}

/// Disconnects an agent, and restores what was in its file before.
pub fn disconnect(context: &Context, agent: &'static Agent) -> Result<()> {
    standing(context, agent)?.without()?.apply(context)?;
    append_event(context, "client.remove", &subject(agent));
    Ok(())
}

fn standing(context: &Context, agent: &'static Agent) -> Result<Standing> {
    Standing::of(context, ConfigFile::find(context, agent, Scope::User, None)?, DEFAULT_NAME)
}

fn subject(agent: &Agent) -> String {
    format!("{}:{}:{}", agent.name, Scope::User.name(), DEFAULT_NAME)
}
