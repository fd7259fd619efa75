//! Merges items into a project: compares them with what is stored, and writes the differences.

pub mod apply;
pub mod bulk;
pub mod plan;
pub mod servers;
pub mod write;
