//! Reads the files that only one agent uses.

pub mod agent_file;
pub mod stray;
