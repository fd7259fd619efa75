//! Reads and writes MCP servers in the formats of agents' files, as of November 2026.
//!
//! [`dialect`] describes an agent's format. [`read`] and [`write`] convert an entry, with the references in its texts
//! ([`expansion`]) and scripts on Windows ([`script`]). [`document`] edits the file, [`secrets`] replaces secrets with
//! references, and [`intake`] imports a whole file.

pub mod dialect;
pub mod document;
pub mod expansion;
pub mod intake;
pub mod loss;
pub mod read;
mod script;
pub mod secrets;
pub mod write;

#[cfg(test)]
mod tests;
