//! Search for tools with FTS5. The rowid of a row of the index is the id of its `tool_listing`.

use super::rows::sqlite_sql;
use super::search::quoted;
use crate::Db;
use crate::engine::hits::counted;
use crate::engine::{Row, params};
use crate::search::cut;
use mcpkg_base::error::Result;

/// Replaces the words of a tool in the index.
pub(crate) fn index(db: &Db<'_>, id: i64, name: &str, description: &str, tags: &str) -> Result<()> {
    let sql =
        sqlite_sql!("INSERT OR REPLACE INTO tool_search (rowid, name, description, tags) VALUES (?1, ?2, ?3, ?4)");
    let [name, description, tags] = [name, description, tags].map(cut);
    db.run(sql, params![id, name, description, tags]).map(drop)
}

/// Removes a tool from the index.
pub(crate) fn unindex(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sqlite_sql!("DELETE FROM tool_search WHERE rowid = ?1"), params![id]).map(drop)
}

/// The SQL condition that a row `l` of `tool_listing` has all tags in the JSON array `?2`, ignoring case.
macro_rules! has_tags {
    () => {
        "NOT EXISTS (SELECT 1 FROM json_each(?2) AS wanted WHERE lower(wanted.value) NOT IN (
                       SELECT lower(tag.value) FROM json_each(l.tags) AS tag))"
    };
}

/// Calls `f` for the best `limit` tools of a registry that contain `words`, combined by `joined`, and have all tags
/// in a JSON array. Returns the results and the total number of matching tools.
///
/// # Errors
/// Errors of `f`.
pub(crate) fn find<T>(
    db: &Db<'_>,
    registry: &str,
    (words, joined): (&[&str], &str),
    tags: &str,
    limit: u32,
    f: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<(Vec<T>, u64)> {
    let words: Vec<String> = words.iter().enumerate().map(|(n, word)| quoted(word, n + 1 == words.len())).collect();
    let query = words.join(joined);
    // CROSS JOIN makes SQLite begin with the hits. Otherwise it would look through all tools of the registry.
    let sql = sqlite_sql!(
        "WITH hit AS MATERIALIZED (
           SELECT rowid AS id, bm25(tool_search, 10, 4, 6) AS badness FROM tool_search WHERE tool_search MATCH ?3)
         SELECT l.name, l.version, l.description, l.tags, l.published_at, count(*) OVER ()
           FROM hit CROSS JOIN tool_listing AS l ON l.id = hit.id
          WHERE l.registry = ?1 AND ",
        has_tags!(),
        " ORDER BY badness, l.name LIMIT ?4"
    );
    counted(db, sql, params![registry, tags, query, limit], f)
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
    let sql = sqlite_sql!(
        "SELECT l.name, l.version, l.description, l.tags, l.published_at, count(*) OVER () FROM tool_listing AS l
          WHERE l.registry = ?1 AND ",
        has_tags!(),
        " ORDER BY l.name LIMIT ?3"
    );
    counted(db, sql, params![registry, tags, limit], f)
}
