//! Describes a change to an entry.

use serde_json::Value;

/// A change to an entry.
#[derive(Clone, Debug)]
pub struct Change {
    pub fields: Vec<(String, Value)>,
    /// Whether the change replaces an existing entry completely. Otherwise, it sets `fields` and removes the unwanted
    /// ones.
    pub replaces: bool,
    /// The fields that belong to the writer of the entry. Those that `fields` lacks are removed. All other fields belong to the
    /// user and stay.
    pub decided: Vec<String>,
}

impl Change {
    /// Returns a change after which the entry has exactly these fields.
    pub fn whole(fields: Vec<(String, Value)>) -> Self {
        Self { fields, replaces: true, decided: Vec::new() }
    }

    /// Returns the names of the fields to remove.
    pub fn unwanted(&self) -> impl Iterator<Item = &String> {
        self.decided.iter().filter(|name| !self.fields.iter().any(|(field, _)| field == *name))
    }
}
