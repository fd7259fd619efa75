//! The programs that a repository's own configuration names.
//!
//! A repository may arrive as a folder, with a `.git` that somebody else wrote. Git runs what its configuration names: filters while it
//! looks at files, `uploadpack` while it fetches, `gpg.program` while it signs. So mcpkg reads that configuration first ([`read`],
//! [`submodules`]), without git working in the repository. Reads then go on with the filters switched off; anything that would run such
//! a program is refused until this user trusted exactly these settings ([`decide`], [`trust`]). mcpkg does not ask about the user's own
//! configuration: nobody else wrote it.

mod decide;
mod named;
mod read;
mod setting;
mod submodules;

pub(super) use decide::{held_back, require};
pub use named::{Named, trust};
pub use setting::{MERGE, Setting};
