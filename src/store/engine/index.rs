//! Whether the search index holds what it should.

use super::connection::Link;
use super::{postgres, sqlite};
use crate::error::Result;
use crate::store::Db;

/// Tells where the index does not hold the words of what is stored.
pub(in crate::store) fn compare(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    match db.link() {
        Link::Sqlite(connection) => sqlite::index::compare(connection, db, faults),
        Link::Postgres(_) => postgres::search::compare(db, faults),
    }
}
