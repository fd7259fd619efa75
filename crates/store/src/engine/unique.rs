//! Constraints whose violation a caller looks for.

use super::{postgres, sqlite};
use mcpkg_base::error::Error;

/// A UNIQUE constraint, by its table and its columns in the order in which the table declares them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unique {
    table: &'static str,
    columns: &'static [&'static str],
}

impl Unique {
    pub(crate) const fn new(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns }
    }

    /// Returns whether a statement failed since a row with the same values is there already.
    pub(crate) fn is_violated_by(self, error: &Error) -> bool {
        sqlite::is_violated(error, self.table, self.columns) || postgres::is_violated(error, self.table, self.columns)
    }
}
