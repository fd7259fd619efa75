//! Infers a workflow from recorded calls, without a language model: the same calls always give the same workflow.

mod draft;
mod operation;
mod propose;
mod recorded;
mod reference;

use mcpkg_core::op::Entry;

pub(super) use draft::step_name;

pub(super) const OPS: &[Entry] = &[Entry::of::<operation::Infer>(), Entry::of::<propose::Propose>()];
