//! Runs git. All other modules run git through this one. git never prompts, runs no hooks unless asked to, and never
//! takes text from a user as an option.
//!
//! [`Git`] runs commands in one folder. Each subject has its own module: [`refs`] and their [`transaction`], [`trees`]
//! and [`tags`] (which only write objects and move nothing), [`status`], [`worktrees`], [`snapshot`], [`unfinished`]
//! (failed checkouts), and [`remote`]. [`programs`] keeps git from running programs named in a repository's own
//! configuration.

mod command;
mod failure;
mod folder;
pub mod hooks;
mod paths;
mod plain;
pub mod programs;
pub mod refs;
pub mod remote;
pub mod served;
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

/// Returns whether a text is the whole hash of a commit, by SHA-1 or SHA-256. Unlike the name of a branch, such a hash
/// always means the same commit.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}
