//! The commands around running tools: `mcpkg tool runs`, `env` and `allow`.

mod allow;
mod env;
mod runs;
pub mod subject;

use mcpkg_core::op::Entry;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<runs::Runs>(),
    Entry::of::<env::Set>(),
    Entry::of::<env::List>(),
    Entry::of::<env::Unset>(),
    Entry::of::<allow::Allow>(),
];
