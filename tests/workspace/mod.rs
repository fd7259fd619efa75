//! Contract 003: workspaces of several git repositories.

mod build;
mod building;
pub mod builds;
