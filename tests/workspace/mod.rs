//! Contract 003: workspaces of several git repositories.

mod build;
mod building;
pub mod builds;
mod flow;
mod init;
mod kept;
mod killed;
mod killed_worktrees;
mod push;
mod release;
pub mod repositories;
mod shop;
mod spec;
mod status;
mod sync;
mod undo;
mod worktrees;
