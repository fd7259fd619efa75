//! `mcpkg workflow set`: changes, adds or removes a value in a workflow's text, and keeps its comments and formatting.

mod block;
mod edit;
mod operation;
#[cfg(test)]
mod tests;
mod words;

use mcpkg_core::op::Entry;

pub use words::words_of;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Set>()];
