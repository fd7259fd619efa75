//! Makes saved workflows available to agents as tools named `workflow__NAME`.

mod expose;
mod offered;
mod projected;

use mcpkg_core::op::Entry;

pub(super) use offered::check_name;
pub(super) use projected::PROJECTIONS;

pub(super) const OPS: &[Entry] = &[Entry::of::<expose::Expose>(), Entry::of::<expose::Unexpose>()];
