//! Templates: workflows with parameters. A parameter can also be a command.

mod arguments;
mod fill;
mod form;
mod keep;
mod library;
mod list;
mod used;

use mcpkg_core::op::Entry;

pub(super) const OPS: &[Entry] = &[
    Entry::of::<list::List>(),
    Entry::of::<used::Use>(),
    Entry::of::<list::Show>(),
    Entry::of::<keep::Add>(),
    Entry::of::<keep::Remove>(),
];
