//! Search for tools, with the engine's own index.

use super::connection::Link;
use super::row::Row;
use super::{postgres, sqlite};
use crate::Db;
use mcpkg_base::error::Result;

/// Replaces the words of a tool in the index.
pub(crate) fn index(db: &Db<'_>, id: i64, name: &str, description: &str, tags: &str) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::tool_search::index(db, id, name, description, tags),
        Link::Postgres(_) => postgres::tool_search::index(db, id, name, description, tags),
    }
}

/// Removes a tool from the index.
pub(crate) fn unindex(db: &Db<'_>, id: i64) -> Result<()> {
    match db.link() {
        Link::Sqlite(_) => sqlite::tool_search::unindex(db, id),
        Link::Postgres(_) => postgres::tool_search::unindex(db, id),
    }
}

/// Calls `f` for the best `limit` tools of a registry that contain `words`, combined by `joined`, and have all tags
/// in a JSON array. Returns the results and the total number of matching tools.
///
/// # Errors
/// Errors of `f`.
pub(crate) fn find<T>(
    db: &Db<'_>,
    registry: &str,
    words: (&[&str], &str),
    tags: &str,
    limit: u32,
    f: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<(Vec<T>, u64)> {
    match db.link() {
        Link::Sqlite(_) => sqlite::tool_search::find(db, registry, words, tags, limit, f),
        Link::Postgres(_) => postgres::tool_search::find(db, registry, words, tags, limit, f),
    }
}

/// Calls `f` for the first `limit` tools of a registry, by name, that have all tags. Returns the results and the
/// total number of matching tools.
pub(crate) fn all<T>(
    db: &Db<'_>,
    registry: &str,
    tags: &str,
    limit: u32,
    f: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<(Vec<T>, u64)> {
    match db.link() {
        Link::Sqlite(_) => sqlite::tool_search::all(db, registry, tags, limit, f),
        Link::Postgres(_) => postgres::tool_search::all(db, registry, tags, limit, f),
    }
}
