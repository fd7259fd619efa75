//! The only place that runs git. It never prompts, runs no hooks unless asked to, and never takes text from a user as an option.
//!
//! [`Git`] is git in one folder. There is a file for each subject: [`refs`] and their [`transaction`], [`trees`] and [`tags`]
//! (these write objects only, and move nothing), [`status`], [`worktrees`], [`snapshot`], [`unfinished`] (a checkout that failed),
//! [`remote`]. [`programs`] keeps git from running what a repository's own configuration names.

mod command;
mod failure;
mod folder;
pub mod hooks;
mod paths;
mod plain;
pub mod programs;
pub mod refs;
pub mod remote;
pub mod snapshot;
pub mod status;
pub mod tags;
#[cfg(test)]
mod tests;
pub mod transaction;
pub mod trees;
pub mod unfinished;
mod version;
pub mod worktrees;

pub use command::{Git, LOCAL, ask, feed, run, stream, watch};
pub use folder::{Operation, folder, head_branch, in_progress, index_lock, operation, own_folder, toplevel};
pub use version::{Version, required, version};
