//! The text of workflows: checked, written anew, planned.

pub(in crate::workflow) mod argument;
mod dry_run;
mod render;
pub mod resource;
mod validate;

use crate::op::Entry;

/// The operations, in documentation order.
pub const OPS: &[Entry] =
    &[Entry::of::<validate::Validate>(), Entry::of::<dry_run::DryRun>(), Entry::of::<render::Render>()];
