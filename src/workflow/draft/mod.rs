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

use crate::op::{Entry, Name, Names};
use crate::store::drafts;
use crate::store::page::Page;

/// The operations, in documentation order.
pub(super) const OPS: &[Entry] = &[
    Entry::of::<add::Add>(),
    Entry::of::<list::List>(),
    Entry::of::<show::Show>(),
    Entry::of::<diff::Diff>(),
    Entry::of::<validate::Validate>(),
    Entry::of::<edit::Edit>(),
    Entry::of::<approve::Approve>(),
    Entry::of::<reject::Reject>(),
];

/// The drafts that wait for a person, as a shell completes them.
pub(super) const DRAFTS: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    let waiting = drafts::list(typed.db, project.id, true, &Page::all())?.rows;
    let named = waiting.into_iter().map(|draft| Name { name: draft.uuid.to_string(), about: Some(draft.name) });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
});
