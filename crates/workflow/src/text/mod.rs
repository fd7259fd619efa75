//! The text of workflows: checked, written again, planned.

pub(in crate::workflow) mod argument;
pub(in crate::workflow) mod dry_run;
mod render;
pub mod resource;
pub(in crate::workflow) mod sample;
mod validate;

use crate::op::Entry;

/// The operations, in documentation order.
pub const OPS: &[Entry] =
    &[Entry::of::<validate::Validate>(), Entry::of::<dry_run::DryRun>(), Entry::of::<render::Render>()];
