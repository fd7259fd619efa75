//! `mcpkg snapshot`: lists, shows, compares, pins and prunes the snapshots of deploys.

pub mod diff;
pub mod list;
pub mod pin;
pub mod prune;
pub mod show;

mod summary;
