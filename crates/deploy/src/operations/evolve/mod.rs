//! `mcpkg evolve`: proposes users' changes on disk to their source, and restores files that users deleted.

pub mod accept;
pub mod list;
pub mod propose;
pub mod reject;
pub mod restore;
pub mod show;

mod candidates;
mod new_skills;
mod proposal;
