//! Providers for what is being written: which lists hand out values for an input or an argument.

mod node;
mod operation;
mod ranked;
mod unbroken;

use mcpkg_core::op::Entry;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Suggest>()];
