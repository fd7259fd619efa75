//! The texts of statements that only SQLite accepts.

/// Makes a statement that only SQLite accepts, for files in this folder.
macro_rules! sqlite_sql {
    ($($text:expr),+ $(,)?) => {
        const { $crate::engine::Sql::new(concat!($($text),+)) }
    };
}
pub(super) use sqlite_sql;
