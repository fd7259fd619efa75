//! The texts of statements.

use crate::error::Error;

/// The text of one statement. [`sql!`] makes it at compile time, and nothing else does: no statement holds what a user
/// wrote, and a test finds all of them in the sources and prepares each one on PostgreSQL too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Sql(&'static str);

impl Sql {
    /// Called by [`sql!`] alone.
    pub(in crate::store) const fn new(text: &'static str) -> Self {
        Self(text)
    }

    pub(super) const fn text(self) -> &'static str {
        self.0
    }
}

/// Makes an [`Sql`] of string literals and of macros without arguments that stand for one, which are put together.
///
/// Parameters are `?1`, `?2`, ... and each is used. The SQL is what PostgreSQL takes once `?N` is written `$N`.
macro_rules! sql {
    ($($piece:expr),+ $(,)?) => {
        const { $crate::store::engine::Sql::new(concat!($($piece),+)) }
    };
}
pub(in crate::store) use sql;

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
        super::sqlite::is_violated(error, self.table, self.columns)
    }
}
