//! The commands for authors of packages: `mcpkg tool init`, `validate` and `pack`.

mod init;
mod pack;
mod validate;

use mcpkg_core::op::Entry;

/// The operations on packages, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<init::Init>(), Entry::of::<validate::Validate>(), Entry::of::<pack::Pack>()];
