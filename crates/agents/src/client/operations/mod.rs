//! Contains the `mcpkg client` commands, one file per command.

mod add;
mod arguments;
mod check;
mod list;
mod remove;
mod show;

use mcpkg_core::op::Entry;

/// The operations of this domain, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<add::Add>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<check::Check>(),
];
