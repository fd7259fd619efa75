//! `mcpkg source`: adds content from elsewhere to a project, and updates it from there.
//!
//! You give an [`address`]. git fetches the repository into a [`mirror`], and the files of a commit ([`tree`]) are
//! written to a temporary folder ([`lay_out`]). mcpkg reads them with the rules of import ([`contents`]), and gives the
//! items names that do not clash ([`naming`]). A repository may list its plugins in a
//! [`marketplace`](crate::import::plugins::marketplace). An [`offer`] shows what would be added, and [`write`] adds it.
//!
//! Later, new versions are merged with the changes made in the project ([`plan`], [`apply`]), even if files were
//! [renamed](renames). [`changes`] counts how an update changes the items. Before any fetch, the user must have
//! approved the source on this machine, so that somebody else's database cannot make mcpkg fetch anything
//! ([`approval`]).

mod add;
pub(crate) mod address;
mod apply;
mod approval;
mod changes;
mod contents;
mod git_output;
mod install;
mod lay_out;
mod left;
mod list;
mod listing;
mod lock;
mod lockfile;
mod mirror;
mod naming;
mod offer;
mod outdated;
mod plan;
mod reference;
mod remove;
mod renames;
mod report;
mod show;
mod tree;
mod update;
mod write;

pub use add::{add, check_address};

use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::Entry;

pub const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<outdated::Outdated>(),
    Entry::of::<update::Update>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<lock::Lock>(),
    Entry::of::<install::Install>(),
];

/// Returns the error for a source that is not in the expected state.
fn changed(message: impl Into<String>) -> Error {
    Error::new(Code::SourceChanged, message)
}

/// Returns the error for an operation that the user cancelled.
fn cancelled() -> Error {
    Error::new(Code::Cancelled, "Cancelled; nothing was changed")
}
