//! `mcpkg source`: content that came from elsewhere, and is kept current from there.
//!
//! A user names an [`address`]; git fetches it into a [`mirror`], of which a commit's [`tree`] is [laid out](lay_out) and read by the
//! rules of import ([`contents`]), under names that do not clash ([`naming`]). An [`offer`] says what would come; [`write`]
//! brings it in, and [`merging`] brings later changes together with
//! what was changed here, also where files were [renamed](renames). A database of somebody else's cannot make anybody fetch
//! ([`approval`]).

mod add;
mod address;
mod approval;
mod contents;
mod install;
mod lay_out;
mod list;
mod listing;
mod lock;
mod lockfile;
mod merging;
mod mirror;
mod naming;
mod offer;
mod outdated;
mod remove;
mod renames;
mod show;
mod tree;
mod update;
mod write;

use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::Entry;

/// The operations on sources, in documentation order.
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

/// Returns the failure of a source that is not what it was.
fn changed(message: impl Into<String>) -> Error {
    Error::new(Code::SourceChanged, message)
}

/// Returns the failure of a source that the user gave up.
fn given_up() -> Error {
    Error::new(Code::Cancelled, "Cancelled; nothing was changed")
}
