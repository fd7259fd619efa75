//! What an entry shall be.

use serde_json::Value;

/// What an entry shall be.
#[derive(Clone, Debug)]
pub struct Change {
    pub fields: Vec<(String, Value)>,
    /// Whether an entry that is there goes whole, else only the fields that are named here.
    pub replaces: bool,
    /// The fields that whoever writes the entry decides on: those that are not among `fields` go. What else stands in it
    /// is the user's.
    pub decided: Vec<String>,
}

impl Change {
    /// Returns a change to an entry of these fields and no others.
    pub fn whole(fields: Vec<(String, Value)>) -> Self {
        Self { fields, replaces: true, decided: Vec::new() }
    }

    /// Returns the fields that the entry shall not have.
    pub fn unwanted(&self) -> impl Iterator<Item = &String> {
        self.decided.iter().filter(|name| !self.fields.iter().any(|(field, _)| field == *name))
    }
}
