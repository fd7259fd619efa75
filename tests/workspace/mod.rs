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
mod release;
mod shop;
pub mod spec;
mod undo;
