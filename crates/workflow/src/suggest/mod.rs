//! Suggests what fits at a place of a workflow that is being written: values, providers, commands and arguments.

mod fitting;
mod node;
mod operation;
mod ranked;
mod typed;
mod unbroken;
mod values;

use mcpkg_core::op::Entry;

pub use unbroken::unbroken;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Suggest>(), Entry::of::<values::Values>()];
