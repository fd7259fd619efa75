//! Checks the search index, and brings an index of an older version up to date.

use super::connection::Link;
use super::{postgres, sqlite, transfer};
use crate::Db;
use crate::search::is_cut;
use mcpkg_base::error::Result;

/// Indexes again all items and tools with text in a script without spaces, such as Chinese. Older versions indexed
/// whole runs of letters as words.
pub(super) fn renew(db: &Db<'_>) -> Result<()> {
    transfer::words(db, db, is_cut)?;
    transfer::tool_words(db, db, is_cut)
}

/// Reports where the index differs from the words of the stored items.
pub(crate) fn compare(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    match db.link() {
        Link::Sqlite(connection) => sqlite::index::compare(connection, db, faults),
        Link::Postgres(_) => postgres::search::compare(db, faults),
    }
}
