//! Search for tools with `tsvector`. The `rowid` of a row of the index is the id of its `tool_listing`.

use super::search::{query, words};
use super::sql::postgres_sql;
use crate::Db;
use crate::engine::hits::counted;
use crate::engine::{Row, params};
use crate::search::cut;
use mcpkg_base::error::Result;

/// Replaces the words of a tool in the index.
pub(crate) fn index(db: &Db<'_>, id: i64, name: &str, description: &str, tags: &str) -> Result<()> {
    let plain = |text: &str| words(&cut(text)).collect::<Vec<_>>().join(" ");
    let sql = postgres_sql!(
        "INSERT INTO tool_search (rowid, words)
         VALUES (?1, setweight(to_tsvector('words', ?2), 'A') || setweight(to_tsvector('words', ?3), 'C')
                     || setweight(to_tsvector('words', ?4), 'B'))
         ON CONFLICT (rowid) DO UPDATE SET words = excluded.words"
    );
    db.run(sql, params![id, plain(name), plain(description), plain(tags)]).map(drop)
}

/// Removes a tool from the index.
pub(crate) fn unindex(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(postgres_sql!("DELETE FROM tool_search WHERE rowid = ?1"), params![id]).map(drop)
}

/// The SQL condition that a row `l` of `tool_listing` has all tags in the JSON array `?2`, ignoring case.
macro_rules! has_tags {
    () => {
        "NOT EXISTS (SELECT 1 FROM json_array_elements_text(?2::text::json) AS wanted WHERE lower(wanted) NOT IN (
                       SELECT lower(tag) FROM json_array_elements_text(l.tags::json) AS tag))"
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
    let joined = if joined.contains("OR") { " | " } else { " & " };
    let Some((last, others)) = words.split_last() else { return Ok((Vec::new(), 0)) };
    let terms = [query(others.iter().copied(), joined, false), query([*last], joined, true)];
    let terms: Vec<String> = terms.into_iter().flatten().collect();
    if terms.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let sql = postgres_sql!(
        "SELECT l.name, l.version, l.description, l.tags, l.published_at, count(*) OVER ()
           FROM tool_search AS s JOIN tool_listing AS l ON l.id = s.rowid
          WHERE s.words @@ to_tsquery('words', ?3) AND l.registry = ?1 AND ",
        has_tags!(),
        " ORDER BY ts_rank('{0.1, 0.4, 0.6, 1.0}', s.words, to_tsquery('words', ?3)) DESC, l.name LIMIT ?4"
    );
    counted(db, sql, params![registry, tags, terms.join(joined), limit], f)
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
    let sql = postgres_sql!(
        "SELECT l.name, l.version, l.description, l.tags, l.published_at, count(*) OVER () FROM tool_listing AS l
          WHERE l.registry = ?1 AND ",
        has_tags!(),
        " ORDER BY l.name LIMIT ?3"
    );
    counted(db, sql, params![registry, tags, limit], f)
}
