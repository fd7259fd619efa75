//! `mcpkg evolve`: what users changed on disk goes back to where it came from, and what they deleted comes back.

pub mod proposals;
pub mod propose;
pub mod restore;
