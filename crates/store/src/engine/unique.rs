//! Names UNIQUE constraints, so that callers can recognize the error for a violated one.

use super::{postgres, sqlite};
use mcpkg_base::error::Error;

/// A UNIQUE constraint: its table, and its columns in the order of the table's declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unique {
    table: &'static str,
    columns: &'static [&'static str],
}

impl Unique {
    pub(crate) const fn new(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns }
    }

    /// Whether a statement failed because a row with the same values exists.
    pub(crate) fn is_violated_by(self, error: &Error) -> bool {
        sqlite::is_violated(error, self.table, self.columns) || postgres::is_violated(error, self.table, self.columns)
    }
}
