//! Whether the search index holds what it should, and making it so where it was made by an older version.

use super::connection::Link;
use super::{postgres, sqlite, transfer};
use crate::Db;
use crate::search::is_cut;
use mcpkg_base::error::Result;

/// Reindexes what contains letters of scripts without spaces. An index of an older version has whole runs of them as words.
pub(super) fn renew(db: &Db<'_>) -> Result<()> {
    transfer::words(db, db, is_cut)?;
    transfer::tool_words(db, db, is_cut)
}

/// Reports where the index differs from the words of what is stored.
pub(crate) fn compare(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    match db.link() {
        Link::Sqlite(connection) => sqlite::index::compare(connection, db, faults),
        Link::Postgres(_) => postgres::search::compare(db, faults),
    }
}
