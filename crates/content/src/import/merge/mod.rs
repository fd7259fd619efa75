//! Merges items into a project: compares them with what is stored, and writes the differences.

pub mod ahead;
pub mod items;
pub mod servers;
pub mod write;
