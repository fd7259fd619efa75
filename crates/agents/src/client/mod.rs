//! Connects the agents on the user's machine to mcpkg: writes mcpkg's entry into each agent's configuration, removes it again,
//! and checks whether it works.

mod address;
mod binary;
mod check;
mod config_file;
#[cfg(test)]
mod edits;
mod entry;
mod fields;
mod file;
mod health;
mod operations;
mod our_entry;
mod record;
mod runs;
mod standing;

use mcpkg_core::op::Domain;

/// The group of this domain's operations, which are not tools for agents.
pub const GROUP: &str = "client";

pub const DOMAIN: Domain = Domain {
    name: "client",
    operations: &[operations::OPS],
    commands: &[("client", "Connect the agents on this machine: Claude Code, Codex, Cursor, VS Code and others")],
    health: health::health,
    ..Domain::EMPTY
};
