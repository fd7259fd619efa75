//! Templates: workflows with parameters, commands among them.

mod arguments;
mod fill;
mod form;
mod keep;
mod kept;
mod list;
mod used;

use mcpkg_core::op::Entry;

/// The operations, in documentation order.
pub(super) const OPS: &[Entry] = &[
    Entry::of::<list::List>(),
    Entry::of::<used::Use>(),
    Entry::of::<list::Show>(),
    Entry::of::<keep::Add>(),
    Entry::of::<keep::Remove>(),
];
