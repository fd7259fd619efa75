//! The text of workflows: checked, written again, planned.

pub(crate) mod argument;
pub(crate) mod dry_run;
mod render;
pub mod resource;
pub(crate) mod sample;
mod validate;

use mcpkg_core::op::Entry;

/// The operations, in documentation order.
pub const OPS: &[Entry] =
    &[Entry::of::<validate::Validate>(), Entry::of::<dry_run::DryRun>(), Entry::of::<render::Render>()];
