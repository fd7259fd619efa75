//! A workflow made of what was run: no model is asked, and the same runs make the same workflow.

mod draft;
mod operation;
mod recorded;
mod reference;

use mcpkg_core::op::Entry;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Infer>()];
