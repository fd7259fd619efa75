//! Drafts of workflows: agents and people propose them, and a person decides.

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
pub(super) mod undo;

use mcpkg_base::error::Result;
use mcpkg_core::op::Entry;
use mcpkg_store::Db;
use mcpkg_store::drafts::Draft;
use mcpkg_store::projects::Project;

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

/// Returns a draft that nobody has decided about yet, and its text; fails with `E_DRAFT_STALE` otherwise.
pub fn waiting(db: &Db<'_>, project: &Project, id: &str) -> Result<(Draft, String)> {
    kept::Kept::waiting(db, project, id).map(|kept| (kept.draft, kept.text))
}
