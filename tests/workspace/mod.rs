//! Contract 003: workspaces of several git repositories.

mod build;
mod building;
pub mod builds;
mod flow;
mod init;
mod kept;
mod killed;
mod original;
mod page;
mod push;
mod release;
mod repositories;
mod shop;
pub mod spec;
mod status;
mod sync;
mod undo;
mod worktrees;
