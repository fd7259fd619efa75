//! Manages worktree sets: one worktree per repository for a change, next to your normal checkouts.
//!
//! Each worktree of the set NAME is in `<base_dir>/NAME/<path of the repository>`. Only worktrees that git knows count; a plain folder
//! does not.

mod add;
mod cd;
pub mod list;
mod remove;
mod restore;
pub mod set;

use mcpkg_core::op::Entry;

pub const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<restore::Restore>(),
    Entry::of::<cd::Cd>(),
];
