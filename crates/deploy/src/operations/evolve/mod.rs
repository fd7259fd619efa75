//! `mcpkg evolve`: proposes a user's changes on disk to the source of the files, and restores deleted files.

pub mod accept;
pub mod list;
pub mod propose;
pub mod reject;
pub mod restore;
pub mod show;

mod candidates;
mod new_skills;
mod proposal;
