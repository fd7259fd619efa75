//! `mcpkg evolve`: proposes the changes that users made to deployed files, accepts or rejects these proposals, and
//! restores deployed files that are missing.

pub mod accept;
pub mod list;
pub mod propose;
pub mod reject;
pub mod restore;
pub mod show;

mod candidates;
mod new_skills;
mod proposal;
