//! Worktree sets: a worktree of each repository for one change, next to the checkouts that users work in.
//!
//! A set called NAME lies in `<base_dir>/NAME/<path of the repository>`. Which there are is what git knows of them; a
//! folder alone is none.

mod add;
mod cd;
mod dry_run;
pub mod list;
mod remove;
mod restore;
pub mod set;

use mcpkg_core::op::Entry;

/// The operations of sets of worktrees.
pub const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<restore::Restore>(),
    Entry::of::<cd::Cd>(),
];
