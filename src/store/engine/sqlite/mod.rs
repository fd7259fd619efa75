//! SQLite: all that only this engine has.

pub(in crate::store) mod functions;
pub(in crate::store) mod search;

mod rows;

pub(super) use rows::{Row, each, is_violated, one, run};

/// Makes a statement that only SQLite takes; for files in this folder alone.
macro_rules! sqlite_sql {
    ($text:literal) => {
        const { $crate::store::engine::Sql::new($text) }
    };
}
use sqlite_sql;
