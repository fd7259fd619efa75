//! Drafts of workflows: proposed by agents or people, read and decided by a person.

pub mod add;
pub mod approve;
pub mod diff;
pub mod edit;
pub mod list;
pub mod plan;
pub mod reject;
pub mod show;
pub mod validate;

mod kept;
pub(super) mod resource;
mod said;

use crate::op::Entry;

/// The operations, in documentation order.
pub(super) const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<diff::Diff>(),
    Entry::of::<validate::Validate>(),
    Entry::of::<plan::Plan>(),
    Entry::of::<edit::Edit>(),
    Entry::of::<approve::Approve>(),
    Entry::of::<reject::Reject>(),
];
