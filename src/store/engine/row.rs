//! Rows: what a query gives.

use super::sqlite;
use super::value::{FromValue, Value};
use crate::error::Result;

/// A row of a query, borrowed from its statement until the next one is read.
pub(in crate::store) struct Row<'r>(Inner<'r>);

enum Inner<'r> {
    Sqlite(sqlite::Row<'r>),
}

impl<'r> From<sqlite::Row<'r>> for Row<'r> {
    fn from(row: sqlite::Row<'r>) -> Self {
        Self(Inner::Sqlite(row))
    }
}

impl<'r> Row<'r> {
    /// Returns column `column`, the first of which is 0.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` where it holds a value that `T` does not take.
    pub(in crate::store) fn get<T: FromValue<'r>>(&self, column: usize) -> Result<T> {
        self.value(column)?.read(column)
    }

    fn value(&self, column: usize) -> Result<Value<'r>> {
        match &self.0 {
            Inner::Sqlite(row) => row.value(column),
        }
    }
}
