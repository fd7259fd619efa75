//! Contract 003: workspaces of several git repositories.

mod flow;
mod init;
mod kept;
mod killed;
mod release;
mod shop;
mod undo;
mod spec;
mod build;
mod building;
pub mod builds;
