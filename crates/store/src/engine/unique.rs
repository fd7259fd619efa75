//! Constraints whose violation a caller looks for.

use super::{postgres, sqlite};
use crate::error::Error;

/// A UNIQUE constraint, by its table and its columns in the order in which the table declares them.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Unique {
    table: &'static str,
    columns: &'static [&'static str],
}

impl Unique {
    pub(in crate::store) const fn new(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns }
    }

    /// Returns whether a statement failed since a row with the same values is there already.
    pub(in crate::store) fn is_violated_by(self, error: &Error) -> bool {
        sqlite::is_violated(error, self.table, self.columns) || postgres::is_violated(error, self.table, self.columns)
    }
}
