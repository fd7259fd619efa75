//! `mcpkg tool import`: imports tools, settings and trust from the files of Enact, the program that contract 002
//! describes.
//!
//! All files are [read](home) first, and a malformed file ends the import before anything is written. The files
//! become a [plan](plan): what is imported and what is left out, with the reason for each omission. The plan is
//! then [written](write) in one transaction. Enact's own files never change.

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
