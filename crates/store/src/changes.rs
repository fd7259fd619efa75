//! The changes that an event records, so that it can be undone: the states of each item before and after.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

use mcpkg_base::error::{Code, Error, Result};

/// A change of one item. It contains no content: a state is a short text, such as a revision's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, String, String, String)", into = "(String, String, String, String)")]
pub struct Change {
    /// The kind of the item, such as `prompt`.
    pub kind: String,
    /// The item's UUID, name or path, depending on its kind.
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

/// Encodes changes for the `changes` column of an event; `None` if nothing changed. Merges all changes of an item
/// into one, which goes from the first state to the last.
pub(super) fn column(changes: Vec<Change>) -> Option<String> {
    let mut merged: Vec<Change> = Vec::with_capacity(changes.len());
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    for change in changes {
        match places.entry((change.kind.clone(), change.item.clone())) {
            Entry::Occupied(place) => merged[*place.get()].after = change.after,
            Entry::Vacant(place) => {
                place.insert(merged.len());
                merged.push(change);
            }
        }
    }
    merged.retain(|change| change.before != change.after);
    if merged.is_empty() { None } else { serde_json::to_string(&merged).ok() }
}

/// Decodes the `changes` column of an event.
pub(super) fn read(column: Option<&str>) -> Result<Vec<Change>> {
    column.map_or(Ok(Vec::new()), |json| {
        serde_json::from_str(json)
            .map_err(|error| Error::new(Code::Damaged, "The changes of an event are damaged").with_source(error))
    })
}
