//! What an entry shall be.

use serde_json::Value;

use crate::client::agents;

/// What an entry shall be.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its fields.
    pub fields: Vec<(String, Value)>,
    /// Whether an entry that is there goes whole, else only the fields that mcpkg writes.
    pub replaces: bool,
}

impl Change {
    /// Returns the fields that mcpkg writes with any agent and that this entry shall not have. What else stands in it is the
    /// user's.
    pub fn unwanted(&self) -> impl Iterator<Item = String> {
        agents::written_fields().into_iter().filter(|name| !self.fields.iter().any(|(field, _)| field == name))
    }
}
