//! The agents on the user's machine: the entry that makes each of them start mcpkg, written into the agent's own
//! configuration and taken out again, and whether it works.

mod address;
mod agent;
mod agents;
mod binary;
mod check;
mod config_file;
mod document;
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

pub use health::health;
pub use operations::OPS;

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "client";
