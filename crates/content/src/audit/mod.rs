//! `mcpkg audit`: audits files, sources and projects with the rules of [`mcpkg_agents::audit`].

mod harmless;
mod operation;
mod sarif;
mod show;
mod subject;

use mcpkg_core::op::Entry;

pub const OPS: &[Entry] = &[
    Entry::of::<operation::Audit>(),
    Entry::of::<harmless::Ignore>(),
    Entry::of::<harmless::List>(),
    Entry::of::<harmless::Unignore>(),
];
