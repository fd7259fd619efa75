//! Checks everything that tools need: runners, registries, trust, stored archives, installs and the cache.
//!
//! `mcpkg doctor` shows only what needs attention, and the runners if tools are installed; it contacts no other hosts.
//! `mcpkg tool doctor` reports every finding.

mod areas;
mod cache;
mod installs;
mod operation;
mod packages;
mod registries;
mod runners;
mod trust;

use mcpkg_core::op::Entry;

pub use areas::health;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<operation::Doctor>()];

/// How thorough a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Quick checks only: no other host is contacted, and archives are read only if they are small in total.
    Brief,
    Whole,
}
