//! Saved workflows that agents have as tools: `workflow__NAME`.

mod expose;
mod offered;
mod projected;

use mcpkg_core::op::Entry;

pub(super) use offered::check_name;
pub(super) use projected::PROJECTIONS;

/// The operations, in documentation order.
pub(super) const OPS: &[Entry] = &[Entry::of::<expose::Expose>(), Entry::of::<expose::Unexpose>()];
