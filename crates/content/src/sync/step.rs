//! A step of a sync: an item, and what the sync does with the item.

use crate::item::Entry;
use crate::stored::Stored;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::syncs::Base;

#[derive(Debug)]
pub(super) enum Act {
    /// Does nothing, because both sides are equal.
    Same,
    /// Deletes only the base, because both sides deleted the item.
    Forget,
    /// Gives the folder's version to the project.
    Take,
    /// Gives the project's version to the folder.
    Give(Entry, NewContent),
    /// Gives the merged content to both sides.
    Merge(Entry, NewContent),
    /// Deletes the file: a person accepted that, or the project renamed the prompt, which then gets a new file.
    DeleteFile,
    /// Proposes the folder's version, because these parts conflict.
    ProposeChange(Vec<&'static str>),
    /// Proposes to delete the item from the project, because its file was deleted in the folder.
    ProposeDelete,
    /// Proposes to delete the file, because the item was deleted in the project.
    ProposeDeleteFile,
    /// Does nothing, because an earlier proposal still waits for a person's decision.
    Wait,
    /// Does nothing, for this reason.
    Skip(String),
}

impl Act {
    /// Returns whether the act changes either side, or proposes a change.
    pub(super) fn does_something(&self) -> bool {
        !matches!(self, Act::Same | Act::Wait | Act::Skip(_) | Act::Forget)
    }
}

/// An item of a sync, and what happens to it.
#[derive(Debug)]
pub(super) struct Step {
    /// The path of the item's file in the folder.
    pub(super) path: String,
    /// The name of the item for people, such as `prompt 'review'`.
    pub(super) label: String,
    pub(super) ours: Option<Stored>,
    /// The base that the last sync recorded.
    pub(super) recorded: Option<Base>,
    /// The last common version: the base of the last sync, or the version that a person decided on since then.
    pub(super) base: Option<(Entry, i64)>,
    pub(super) act: Act,
}
