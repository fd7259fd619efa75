//! Implements the commands that check, plan and render the text of a workflow.

pub(crate) mod argument;
pub(crate) mod dry_run;
mod render;
pub mod resource;
pub(crate) mod sample;
mod validate;

use mcpkg_core::op::Entry;

pub const OPS: &[Entry] =
    &[Entry::of::<validate::Validate>(), Entry::of::<dry_run::DryRun>(), Entry::of::<render::Render>()];
