//! `mcpkg evolve`: what users changed on disk goes back to where it came from, and what they deleted comes back.

pub mod accept;
pub mod list;
pub mod propose;
pub mod reject;
pub mod restore;
pub mod show;

mod candidates;
mod new_skills;
mod proposal;
