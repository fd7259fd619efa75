//! Full-text search with FTS5.
//!
//! A row of the index has the rowid `2 * prompt.id` or `2 * resource.id + 1`. Its column `project` has the token `p<id>`, so
//! that a search stays within one project inside the index.

use std::ops::Range;

use rusqlite::Connection;

use super::connect::POOLED_CACHE;
use super::errors::failed;
use super::rows::sqlite_sql;
use crate::Db;
use crate::blobs::{Blob, blob_columns};
use crate::engine::{hits, params};
use crate::revisions::Kind;
use crate::search::{Ends, Hit, cut, query_word};
use mcpkg_base::error::Result;

/// Replaces the words of an item in the index.
pub(crate) fn index(
    db: &Db<'_>,
    (kind, id): (Kind, i64),
    project: i64,
    name: &str,
    description: &str,
    body: &str,
) -> Result<()> {
    let sql = sqlite_sql!(
        "INSERT OR REPLACE INTO search (rowid, project, name, description, body) VALUES (?1, ?2, ?3, ?4, ?5)"
    );
    let [name, description, body] = [name, description, body].map(cut);
    db.run(sql, params![rowid(kind, id), format!("p{project}"), name, description, body]).map(drop)
}

/// How many bytes of words FTS5 collects in memory before it writes them as a segment: by default, and while many
/// items are written. Segments are merged later, so larger ones save a third of the time for indexing 60 MB.
const GATHERED: i64 = 1 << 20;
const GATHERED_OF_MANY: i64 = 8 << 20;

/// The connection's page cache while many items are written, in KiB. With a smaller cache, pages would be written and
/// read again several times.
const CACHE_OF_MANY: i64 = 64 * 1024;

/// Implements [`crate::search::with_many`]. If `f` fails, the transaction is rolled back together with FTS5's setting.
pub(crate) fn with_many<T>(connection: &Connection, db: &Db<'_>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let cache = |size: i64| connection.pragma_update(None, "cache_size", -size);
    let gather =
        |bytes: i64| db.run(sqlite_sql!("INSERT INTO search (search, rank) VALUES ('hashsize', ?1)"), params![bytes]);
    gather(GATHERED_OF_MANY)?;
    cache(CACHE_OF_MANY).map_err(failed)?;
    let value = f();
    cache(POOLED_CACHE).map_err(failed)?;
    let value = value?;
    gather(GATHERED)?;
    Ok(value)
}

/// Removes an item from the index.
pub(crate) fn unindex(db: &Db<'_>, (kind, id): (Kind, i64)) -> Result<()> {
    db.run(sqlite_sql!("DELETE FROM search WHERE rowid = ?1"), params![rowid(kind, id)]).map(drop)
}

/// Removes all items of a project from the index.
pub(crate) fn unindex_project(db: &Db<'_>, project: i64) -> Result<()> {
    for sql in [
        sqlite_sql!("DELETE FROM search WHERE rowid IN (SELECT 2 * id FROM prompt WHERE project_id = ?1)"),
        sqlite_sql!("DELETE FROM search WHERE rowid IN (SELECT 2 * id + 1 FROM resource WHERE project_id = ?1)"),
    ] {
        db.run(sql, params![project])?;
    }
    Ok(())
}

/// The SQL condition that a row of the index belongs to a stored item.
macro_rules! written {
    () => {
        "CASE rowid % 2 WHEN 0 THEN EXISTS (SELECT 1 FROM prompt WHERE id = search.rowid / 2)
                                 ELSE EXISTS (SELECT 1 FROM resource WHERE id = search.rowid / 2) END"
    };
}

/// Removes the words of each of `ids` that has no stored item.
pub(crate) fn unindex_unwritten(db: &Db<'_>, ids: &Range<i64>) -> Result<()> {
    let sql = sqlite_sql!("DELETE FROM search WHERE rowid >= ?1 AND rowid < ?2 AND NOT ", written!());
    db.run(sql, params![rowid(Kind::Prompt, ids.start), rowid(Kind::Prompt, ids.end)]).map(drop)
}

/// Returns the id of the item that a row of the index belongs to.
pub(crate) fn id(rowid: i64) -> i64 {
    rowid >> 1
}

/// Returns the number of rows in the index.
#[cfg(test)]
pub(crate) fn count(db: &Db<'_>) -> Result<i64> {
    db.single(sqlite_sql!("SELECT count(*) FROM search"), params![], |row| row.get(0))
}

/// Implements [`crate::search::find`], except for the order. `has_others` says that the index also contains words
/// without an item.
pub(crate) fn find(
    db: &Db<'_>,
    project: Option<i64>,
    words: &[&str],
    (limit, has_others): (i64, bool),
    mut each: impl FnMut(Hit, Option<Blob<'_>>) -> Result<()>,
) -> Result<()> {
    let words: Vec<String> = words.iter().map(|word| quoted(word, true)).collect();
    let mut query = format!("{{name description body}} : ({})", words.join(" AND "));
    if let Some(project) = project {
        query = format!("project : \"p{project}\" AND {query}");
    }
    let sql = sqlite_sql!(
        "WITH hit AS MATERIALIZED (
           SELECT rowid AS id, bm25(search, 0, 10, 4, 1) AS badness FROM search
            WHERE search MATCH ?1 AND (NOT ?3 OR ",
        written!(),
        ") ORDER BY badness LIMIT ?2)
         SELECT 'prompt', project.name, prompt.name, NULL, prompt.description, badness,
                project_id, arguments, listed_sum, ",
        blob_columns!(),
        " FROM hit JOIN prompt ON prompt.id = hit.id / 2 JOIN project ON project.id = project_id
               LEFT JOIN blob b ON b.id = prompt.blob_id
          WHERE hit.id % 2 = 0
         UNION ALL
         SELECT 'resource', project.name, resource.name, uri, resource.description, badness,
                project_id, mime_type, listed_sum, ",
        blob_columns!(),
        " FROM hit JOIN resource ON resource.id = hit.id / 2 JOIN project ON project.id = project_id
               LEFT JOIN blob b ON b.id = resource.blob_id
          WHERE hit.id % 2 = 1"
    );
    db.each(sql, params![query, limit, has_others], |row| {
        let content = row.get::<Option<i64>>(9)?.map(|_| Blob::from_row(row, 9)).transpose()?;
        each(hits::hit(row)?, content)
    })
}

/// Quotes a word for a query, so that none of its characters is query syntax. U+0000 becomes a space, since it would
/// end the query. If the quoted text consists of several words, they must follow each other in the item. With `begins`,
/// longer words that begin with this word match as well; a single letter of a script without spaces always matches like
/// that.
pub(super) fn quoted(word: &str, begins: bool) -> String {
    let (word, ends) = query_word(word);
    let star = if ends == Ends::Letter || (begins && ends == Ends::Word) { "*" } else { "" };
    format!("\"{}\"{star}", word.replace('\0', " ").replace('"', "\"\""))
}

fn rowid(kind: Kind, id: i64) -> i64 {
    match kind {
        Kind::Prompt => id.wrapping_mul(2),
        Kind::Resource => id.wrapping_mul(2).wrapping_add(1),
    }
}
