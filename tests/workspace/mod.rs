//! Contract 003: workspaces of several git repositories.

mod build;
mod building;
pub mod builds;
mod called;
mod face;
mod flow;
mod init;
mod journey;
mod kept;
mod killed;
mod killed_worktrees;
mod network;
mod original;
mod page;
mod push;
mod release;
pub mod repositories;
mod secret;
mod shop;
pub mod spec;
mod status;
mod sync;
mod told;
mod undo;
mod worktrees;
