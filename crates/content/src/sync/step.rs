//! An item of a sync, and what happens to it.

use crate::import::manifest::Entry;
use crate::stored::Stored;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::syncs::Base;

/// What happens to an item.
#[derive(Debug)]
pub(super) enum Act {
    /// Both have the same.
    Same,
    /// Both sides deleted it.
    Forget,
    /// The folder's version is copied to the project.
    Take,
    /// The folder gets the project's version.
    Give(Entry, NewContent),
    /// Both sides get the merged content.
    Merge(Entry, NewContent),
    /// The file is deleted, as a person accepted.
    DeleteFile,
    /// The folder's version is proposed; lists the conflicting parts.
    ProposeChange(Vec<&'static str>),
    /// It is proposed to delete it here, as it was in the folder.
    ProposeDelete,
    /// It is proposed to delete the file, as it was here.
    ProposeDeleteFile,
    /// A proposal waits for a person.
    Wait,
    /// Nothing, for this reason.
    Skip(String),
}

impl Act {
    /// Whether it changes either side, or proposes a change.
    pub(super) fn does_something(&self) -> bool {
        !matches!(self, Act::Same | Act::Wait | Act::Skip(_) | Act::Forget)
    }
}

/// An item, and what happens to it.
#[derive(Debug)]
pub(super) struct Step {
    /// The file below the folder.
    pub(super) path: String,
    /// What people read for it.
    pub(super) label: String,
    pub(super) ours: Option<Stored>,
    /// What was kept of the last sync.
    pub(super) kept: Option<Base>,
    /// The common version, or the one that a person decided on.
    pub(super) base: Option<(Entry, i64)>,
    pub(super) act: Act,
}
