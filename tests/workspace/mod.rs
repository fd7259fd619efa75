//! Contract 003: workspaces of several git repositories.

mod build;
mod building;
pub mod builds;
mod called;
mod face;
mod flow;
mod init;
mod kept;
mod killed;
mod network;
mod push;
mod release;
mod repositories;
mod shop;
mod spec;
mod status;
mod sync;
mod told;
mod undo;
mod worktrees;
