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
mod release;
mod shop;
mod spec;
mod told;
mod undo;
