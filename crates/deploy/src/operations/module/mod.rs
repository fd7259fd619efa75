//! `mcpkg module`: changes how a deploy treats a project's prompts and resources.

pub mod add;
pub mod list;
pub mod remove;
pub mod set;
pub mod show;

mod edit;
mod summary;
