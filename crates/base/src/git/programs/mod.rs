//! Protects you from programs that a repository's own configuration names.
//!
//! You may get a repository as a folder whose `.git` was written by somebody else. git runs the programs in its
//! configuration: filters when it reads files, `uploadpack` when it fetches, `gpg.program` when it signs. So mcpkg
//! first reads that configuration in a way that runs none of the programs ([`read`], [`submodules`]). Commands that
//! only read then run with the filters disabled. Commands that would run such a program are refused until you trust
//! exactly these settings ([`decide`], [`trust`]). Your own git configuration needs no approval.

mod decide;
mod named;
mod read;
mod setting;
mod submodules;

pub(super) use decide::{held_back, require};
pub use named::{Named, trust};
pub use setting::{MERGE, Setting};
