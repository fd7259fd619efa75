//! The rows of a query's result.

use super::value::{FromValue, Value};
use super::{postgres, sqlite};
use mcpkg_base::error::Result;

/// A row of a query's result. It is borrowed from the statement until the next row is read.
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
    /// Returns the value of a column. The first column is 0.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` if the value does not fit `T`.
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
