//! Changes single values of a workflow's text, and keeps the rest to the byte.

mod block;
mod edit;
mod operation;
#[cfg(test)]
mod tests;
mod words;

use mcpkg_core::op::Entry;

pub use words::words_of;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Set>()];
