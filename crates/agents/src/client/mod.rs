//! The agents on the user's machine: the entry that makes each of them start mcpkg, written into the agent's own
//! configuration and taken out again, and whether it works.

mod address;
mod binary;
mod check;
mod config_file;
#[cfg(test)]
mod edits;
mod entry;
mod entry_name;
mod fields;
mod file;
mod health;
mod operations;
mod our_entry;
mod record;
mod runs;
mod standing;
mod trail;

use mcpkg_core::op::Domain;

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "client";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "client",
    operations: &[operations::OPS],
    commands: &[("client", "Connect the agents on this machine: Claude Code, Codex, Cursor, VS Code and others")],
    health: health::health,
    ..Domain::EMPTY
};
