//! The texts of SQL statements.

/// The text of one statement. Only [`sql!`] and each engine's own macro make it, at compile time, so no statement
/// contains a user's text. A test finds all statements of [`sql!`] in the sources and prepares each of them on
/// PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sql(&'static str);

impl Sql {
    /// Only for use by [`sql!`] and each engine's own macro.
    pub(crate) const fn new(text: &'static str) -> Self {
        Self(text)
    }

    pub(super) const fn text(self) -> &'static str {
        self.0
    }
}

/// A table that can be copied from one engine to the other.
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

/// Makes an [`Sql`] by joining string literals, and macros without arguments that expand to a string literal.
///
/// Parameters are `?1`, `?2`, ..., and each of them must be used. The text is valid for PostgreSQL once `?N` is replaced with
/// `$N`.
macro_rules! sql {
    ($($piece:expr),+ $(,)?) => {
        const { $crate::engine::Sql::new(concat!($($piece),+)) }
    };
}
pub(crate) use sql;
