//! Full-text search over prompts and textual resources, with the index that the engine has.

use std::ops::Range;

use super::connection::Link;
use super::{postgres, sqlite};
use crate::Db;
use crate::blobs::Blob;
use crate::revisions::Kind;
use crate::search::Hit;
use mcpkg_base::error::Result;

/// Whether words of many items are indexed before the items are written. PostgreSQL counts the ids of items by itself, and
/// gives none of them out before.
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

/// As [`crate::search::with_many`].
pub(crate) fn with_many<T>(db: &Db<'_>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    match db.link() {
        Link::Sqlite(connection) => sqlite::search::with_many(connection, db, f),
        Link::Postgres(_) => f(),
    }
}

/// Takes an item out of the index.
pub(crate) fn unindex(db: &Db<'_>, item: (Kind, i64)) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::unindex(db, item),
        Link::Postgres(_) => postgres::search::unindex(db, item),
    }
}

/// Takes all items of a project out of the index.
pub(crate) fn unindex_project(db: &Db<'_>, project: i64) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::unindex_project(db, project),
        Link::Postgres(_) => postgres::search::unindex_project(db, project),
    }
}

/// Takes the words out of the index that stand under these ids, but those of items.
pub(crate) fn unindex_unwritten(db: &Db<'_>, ids: &Range<i64>) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::search::unindex_unwritten(db, ids),
        Link::Postgres(_) => Ok(()),
    }
}

/// As [`crate::search::find`], except for the order. With `has_others`, the index also has words that belong to no item.
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

/// Returns how many rows the index has.
#[cfg(test)]
pub(crate) fn count(db: &Db<'_>) -> Result<i64> {
    sqlite::search::count(db)
}
