//! One item of a sync, and what the sync does with it.

use crate::item::Entry;
use crate::stored::Stored;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::syncs::Base;

/// What a sync does with an item.
#[derive(Debug)]
pub(super) enum Act {
    /// Nothing: both sides are equal.
    Same,
    /// Both sides deleted it, so only the base is deleted.
    Forget,
    /// The project gets the folder's version.
    Take,
    /// The folder gets the project's version.
    Give(Entry, NewContent),
    /// Both sides get the merged content.
    Merge(Entry, NewContent),
    /// The file is deleted, because a person accepted that.
    DeleteFile,
    /// The folder's version is proposed, because these parts conflict.
    ProposeChange(Vec<&'static str>),
    /// The folder deleted the file, so deleting the item from the project is proposed.
    ProposeDelete,
    /// The project deleted the item, so deleting the file is proposed.
    ProposeDeleteFile,
    /// Nothing: an earlier proposal still waits for a person's decision.
    Wait,
    /// Nothing, for this reason.
    Skip(String),
}

impl Act {
    /// Returns whether it changes either side, or proposes a change.
    pub(super) fn does_something(&self) -> bool {
        !matches!(self, Act::Same | Act::Wait | Act::Skip(_) | Act::Forget)
    }
}

/// An item of a sync, and what happens to it.
#[derive(Debug)]
pub(super) struct Step {
    /// The path of its file in the folder.
    pub(super) path: String,
    /// The item's description for people, such as `prompt 'review'`.
    pub(super) label: String,
    pub(super) ours: Option<Stored>,
    /// What the last sync recorded.
    pub(super) recorded: Option<Base>,
    /// The common version: from the last sync, or the one that a person decided on since.
    pub(super) base: Option<(Entry, i64)>,
    pub(super) act: Act,
}
