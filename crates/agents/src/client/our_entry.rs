//! Finds mcpkg's own entries in agents' configuration files.

use serde_json::{Value, json};

use super::binary::Binary;
use super::config_file::ConfigFile;
use super::file::{self, FileText};
use super::record::Records;
use super::runs::Runs;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// The default name of the entry.
pub const DEFAULT_NAME: &str = "mcpkg";

/// Checks that every agent accepts a name. The name must be short enough for agents to append the names of tools to it.
pub fn check_name(name: &str) -> Result<()> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (1..=32).contains(&name.len()) && name.bytes().all(good) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{name}' is not a valid name for an entry"))
        .hint("a name consists of 1 to 32 of the characters A-Z a-z 0-9 _ -"))
}

/// An entry in an agent's file that starts mcpkg, or that mcpkg wrote.
pub struct OurEntry {
    pub config: ConfigFile,
    pub name: String,
    pub entry: Value,
    pub runs: Runs,
    /// Which program the entry starts: the running mcpkg, another program, a missing one, or none.
    pub binary: Binary,
}

impl OurEntry {
    /// Returns the command that writes the entry again.
    pub fn add(&self) -> String {
        format!("mcpkg client add {}{}", self.config.agent.name, self.flags())
    }

    /// Returns the command that removes the entry.
    pub fn remove(&self) -> String {
        format!("mcpkg client remove {}{}", self.config.agent.name, self.flags())
    }

    fn flags(&self) -> String {
        let scope = if self.config.root.is_some() { " --scope project" } else { "" };
        let name = if self.name == DEFAULT_NAME { String::new() } else { format!(" --name {}", self.name) };
        format!("{scope}{name}")
    }

    /// Returns the entry as JSON.
    pub fn data(&self) -> Value {
        json!({
            "scope": self.config.scope,
            "name": self.name,
            "path": self.config.path,
            "runs": self.runs.shown(),
            "entry": self.entry,
            "binary": self.binary.name(),
        })
    }
}

/// Returns the entries in a file that start mcpkg, or that are exactly what mcpkg wrote.
pub fn our_entries(context: &Context, config: &ConfigFile) -> Result<Vec<OurEntry>> {
    let read = FileText::of(config)?;
    let document = config.agent.document();
    let entries = document.entries(read.text()).map_err(|fault| file::invalid(&config.path, &fault))?;
    let records = Records::look(context);
    let ours = |(name, entry): (String, Value)| {
        let runs = Runs::of(&entry)?;
        let written = records.get(&read, &name).is_some_and(|record| record.entry == entry);
        let binary = Binary::of(&runs);
        (runs.is_mcpkg() || written).then(|| OurEntry { config: config.clone(), name, entry, runs, binary })
    };
    Ok(entries.into_iter().filter_map(ours).collect())
}
