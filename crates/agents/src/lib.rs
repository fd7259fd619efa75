//! Knows what coding agents read from this machine, and edits their files.

pub mod agents;
pub mod audit;
pub mod client;
pub mod commands;
pub mod forms;
pub mod servers;
pub mod template;

#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
