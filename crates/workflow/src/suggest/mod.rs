//! Suggests providers for an input or an argument of a workflow that is being written.

mod node;
mod operation;
mod ranked;
mod unbroken;

use mcpkg_core::op::Entry;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Suggest>()];
