//! Rows: what a query gives.

use super::value::{FromValue, Value};
use super::{postgres, sqlite};
use mcpkg_base::error::Result;

/// A row of a query, borrowed from its statement until the next one is read.
pub(crate) struct Row<'r>(Inner<'r>);

enum Inner<'r> {
    Sqlite(sqlite::Row<'r>),
    Postgres(postgres::Row<'r>),
}

impl<'r> From<sqlite::Row<'r>> for Row<'r> {
    fn from(row: sqlite::Row<'r>) -> Self {
        Self(Inner::Sqlite(row))
    }
}

impl<'r> From<postgres::Row<'r>> for Row<'r> {
    fn from(row: postgres::Row<'r>) -> Self {
        Self(Inner::Postgres(row))
    }
}

impl<'r> Row<'r> {
    /// Returns column `column`, the first of which is 0.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` where it holds a value that `T` does not take.
    pub(crate) fn get<T: FromValue<'r>>(&self, column: usize) -> Result<T> {
        self.value(column)?.read(column)
    }

    fn value(&self, column: usize) -> Result<Value<'r>> {
        match &self.0 {
            Inner::Sqlite(row) => row.value(column),
            Inner::Postgres(row) => row.value(column),
        }
    }
}
