//! The texts of statements that only SQLite takes.

/// Makes a statement that only SQLite takes; for files in this folder alone.
macro_rules! sqlite_sql {
    ($($text:expr),+ $(,)?) => {
        const { $crate::engine::Sql::new(concat!($($text),+)) }
    };
}
pub(super) use sqlite_sql;
