//! A table that is copied from one engine to the other.

/// A table that both engines have, and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

impl Table {
    /// Returns the statement that reads all rows.
    pub(super) fn select(&self) -> String {
        format!("SELECT {} FROM {}", self.columns.join(", "), self.name)
    }
}
