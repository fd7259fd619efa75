//! Reads a config repo as the original agentpack does: `agentpack.yaml`, its modules and their overlays.

pub mod identity;
pub mod taken_over;

mod baseline;
mod bounds;
mod branch;
mod checkout;
mod compose;
mod config;
mod lockfile;
mod manifest;
mod opened;
mod overlay;
mod patch;
mod propose;
mod select;
mod tree;
mod validate;
mod yaml;

#[cfg(test)]
mod tests;

pub use checkout::Checkouts;
pub use compose::Composed;
pub use config::{DeclaredTarget, Scope};
pub use manifest::FILE;
pub use opened::{Repo, home_below};
pub use propose::{Proposal, Proposed, ProposedFile, SkippedFile};
pub use select::Choice;
