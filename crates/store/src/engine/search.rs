//! Full-text search over prompts and textual resources, with the engine's own index.

use std::ops::Range;

use super::connection::Link;
use super::{postgres, sqlite};
use crate::Db;
use crate::blobs::Blob;
use crate::revisions::Kind;
use crate::search::Hit;
use mcpkg_base::error::Result;

/// Whether the words of many items can be indexed before the items are written. PostgreSQL cannot, because it assigns the ids
/// of items only when they are written.
pub(crate) fn takes_words_ahead(db: &Db<'_>) -> bool {
    matches!(db.link(), Link::Sqlite(_))
}

/// Replaces the words of an item in the index.
pub(crate) fn index(
    db: &Db<'_>,
    item: (Kind, i64),
    project: i64,
    name: &str,
    description: &str,
    body: &str,
) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::index(db, item, project, name, description, body),
        Link::Postgres(_) => postgres::search::index(db, item, project, name, description, body),
    }
}

/// Implements [`crate::search::with_many`].
pub(crate) fn with_many<T>(db: &Db<'_>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    match db.link() {
        Link::Sqlite(connection) => sqlite::search::with_many(connection, db, f),
        Link::Postgres(_) => f(),
    }
}

/// Removes an item from the index.
pub(crate) fn unindex(db: &Db<'_>, item: (Kind, i64)) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::unindex(db, item),
        Link::Postgres(_) => postgres::search::unindex(db, item),
    }
}

/// Removes all items of a project from the index.
pub(crate) fn unindex_project(db: &Db<'_>, project: i64) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::unindex_project(db, project),
        Link::Postgres(_) => postgres::search::unindex_project(db, project),
    }
}

/// Removes the words of each of `ids` that has no stored item.
pub(crate) fn unindex_unwritten(db: &Db<'_>, ids: &Range<i64>) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::unindex_unwritten(db, ids),
        Link::Postgres(_) => Ok(()),
    }
}

/// Implements [`crate::search::find`], except for the order. `has_others` says that the index also contains words
/// without an item.
pub(crate) fn find(
    db: &Db<'_>,
    project: Option<i64>,
    words: &[&str],
    (limit, has_others): (i64, bool),
    each: impl FnMut(Hit, Option<Blob<'_>>) -> Result<()>,
) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::find(db, project, words, (limit, has_others), each),
        Link::Postgres(_) => postgres::search::find(db, project, words, limit, each),
    }
}

/// Returns the number of rows in the index.
#[cfg(test)]
pub(crate) fn count(db: &Db<'_>) -> Result<i64> {
    sqlite::search::count(db)
}
