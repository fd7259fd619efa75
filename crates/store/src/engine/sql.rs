//! The texts of statements.

/// The text of one statement. [`sql!`] makes it at compile time, and nothing else does: no statement holds what a user
/// wrote, and a test finds all of them in the sources and prepares each one on PostgreSQL too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sql(&'static str);

impl Sql {
    /// Called by [`sql!`] alone.
    pub(crate) const fn new(text: &'static str) -> Self {
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
        const { $crate::engine::Sql::new(concat!($($piece),+)) }
    };
}
pub(crate) use sql;
