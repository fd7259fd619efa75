//! `mcpkg module`: changes how a project's prompts and resources are deployed.

pub mod add;
pub mod list;
pub mod remove;
pub mod set;
pub mod show;

mod edit;
mod summary;
