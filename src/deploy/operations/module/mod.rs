//! `mcpkg module`: what a project's prompts and resources are to a deploy.

pub mod add;
pub mod list;
pub mod remove;
pub mod set;
pub mod show;

mod edit;
mod summary;
