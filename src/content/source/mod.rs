//! `mcpkg source`: content that came from elsewhere, and is kept current from there.
//!
//! A user names an [`address`]; git fetches it into a [`mirror`], of which a commit's [`tree`] is laid out and read by the
//! rules of import ([`contents`]), under names that do not clash ([`naming`]). An [`offer`] says what would come; [`write`]
//! brings it in, and what it finds there is [`stored`]. A database of somebody else's cannot make anybody fetch
//! ([`approval`]).

mod add;
mod address;
mod approval;
mod contents;
mod install;
mod list;
mod lock;
mod lockfile;
mod mirror;
mod naming;
mod offer;
mod outdated;
mod remove;
mod show;
mod stored;
mod tree;
mod write;

use crate::error::{Code, Error};
use crate::op::Entry;

/// The operations on sources, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<outdated::Outdated>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<lock::Lock>(),
    Entry::of::<install::Install>(),
];

/// Returns the failure of a source that is not what it was.
fn changed(message: impl Into<String>) -> Error {
    Error::new(Code::SourceChanged, message)
}
