//! The agents on the user's machine: the entry that makes each of them start mcpkg, written into the agent's own
//! configuration and taken out again, and whether it works.

mod add;
mod agent;
mod change;
mod check;
mod document;
mod entry;
mod file;
mod health;
mod json;
mod list;
mod place;
mod record;
mod remove;
mod show;
mod toml;

use crate::op::{Domain, Entry};

/// The group of this domain; agents see none of it.
pub const GROUP: &str = "client";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "client",
    operations: &[OPS],
    commands: &[("client", "Connect the agents on this machine: Claude Code, Codex, Cursor, VS Code and others")],
    health: health::health,
    ..Domain::EMPTY
};

/// The operations of this domain, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<add::Add>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<check::Check>(),
];
