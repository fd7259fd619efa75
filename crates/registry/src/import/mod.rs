//! `mcpkg tool import`: takes over what the original of contract 002 keeps in its home folder and in projects.
//!
//! Everything is [read](home) first, and a file that is malformed ends the import before anything was written. What the files
//! say becomes a [plan](plan): what is taken, and what is left out, each with its reason. Then all of it is [written](write) in one
//! transaction. Nothing of the original's is changed.

mod config_file;
mod gather;
mod home;
mod operation;
mod packages;
mod plan;
pub mod serving;
mod tools_file;
mod toolsets;
mod trust;
mod variables;
mod widening;
mod write;

use mcpkg_core::op::Entry;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<operation::Import>()];
