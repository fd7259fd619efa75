//! mcpkg: one SQLite file holds what people give their coding agents; one binary serves it to every MCP client and
//! drives it from the shell.
//!
//! `docs/architecture.md` is the map. Imports go down only: `cli`, `mcp` -> `present` -> `op`; domains -> `op`,
//! `error`, `store`, `clock`; `store` -> `error`, `clock`.

pub mod access;
pub mod approved;
pub mod cli;
pub mod client;
pub mod clock;
pub mod consent;
pub mod content;
pub mod database;
pub mod deploy;
pub mod diff;
pub mod disk;
pub mod editor;
pub mod error;
pub mod file;
pub mod git;
pub mod hex;
pub mod http;
pub mod inside;
mod json;
pub mod machine;
pub mod marks;
pub mod mcp;
pub mod mcp_servers;
pub mod names;
pub mod op;
pub mod plural;
pub mod present;
pub mod process;
pub mod redact;
pub mod registry;
pub mod schema;
pub mod secret;
#[cfg(test)]
#[path = "../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
pub mod shell;
pub mod store;
pub mod workflow;
pub mod workspace;

use op::Domains;

/// The domains, in documentation order. Everything that a domain offers is in its own table.
pub const DOMAINS: Domains = Domains(&[
    &content::DOMAIN,
    &deploy::DOMAIN,
    &registry::DOMAIN,
    &workspace::DOMAIN,
    &workflow::DOMAIN,
    &client::DOMAIN,
    &access::DOMAIN,
    &consent::DOMAIN,
    &database::DOMAIN,
]);
