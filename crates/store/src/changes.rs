//! The changes that an event records, so that it can be undone: the states of each item before and after.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

use mcpkg_base::error::{Code, Error, Result};

/// A change of one item. It contains no content: a state is a revision's number or a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, String, String, String)", into = "(String, String, String, String)")]
pub struct Change {
    /// The kind of the item, such as `prompt`.
    pub kind: String,
    /// The permanent key of the item.
    pub item: String,
    /// The state before; empty if there was no such item.
    pub before: String,
    /// The state after; empty if the item is gone.
    pub after: String,
}

impl From<(String, String, String, String)> for Change {
    fn from((kind, item, before, after): (String, String, String, String)) -> Self {
        Self { kind, item, before, after }
    }
}

impl From<Change> for (String, String, String, String) {
    fn from(change: Change) -> Self {
        (change.kind, change.item, change.before, change.after)
    }
}

/// Returns the changes as the value of an event's column; `None` if there are none.
pub(super) fn column(changes: &[Change]) -> Option<String> {
    if changes.is_empty() { None } else { serde_json::to_string(changes).ok() }
}

/// Reads the changes from an event's column.
pub(super) fn read(column: Option<&str>) -> Result<Vec<Change>> {
    column.map_or(Ok(Vec::new()), |json| {
        serde_json::from_str(json)
            .map_err(|error| Error::new(Code::Damaged, "The changes of an event are damaged").with_source(error))
    })
}
