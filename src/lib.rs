//! mcpkg: one SQLite file holds what people give their coding agents; one binary serves it to every MCP client and
//! drives it from the shell.
//!
//! This crate contains the shell (`cli`), the MCP server (`mcp`), the console in a terminal (`tui`) and in a browser (`web`), and the
//! list of domains. Everything else is in `crates/`; `docs/architecture.md` explains the structure.

pub mod cli;
pub mod mcp;
#[cfg(test)]
#[path = "../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
mod tui;
mod web;

use mcpkg_core::op::Domains;

/// All domains, in documentation order. Each domain's own table lists everything it offers.
pub const DOMAINS: Domains = Domains(&[
    &mcpkg_content::DOMAIN,
    &mcpkg_deploy::DOMAIN,
    &mcpkg_registry::DOMAIN,
    &mcpkg_workspace::DOMAIN,
    &mcpkg_workflow::DOMAIN,
    &mcpkg_agents::client::DOMAIN,
    &mcpkg_core::access::DOMAIN,
    &mcpkg_core::consent::DOMAIN,
    &mcpkg_core::passkey::DOMAIN,
    &mcpkg_core::database::DOMAIN,
    &mcpkg_console::DOMAIN,
]);
