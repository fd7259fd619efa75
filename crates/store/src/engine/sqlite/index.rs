//! Checks that the search index contains exactly the words of the stored items.

use rusqlite::{Connection, Row};

use super::errors::failed;
use super::search::id;
use crate::Db;
use crate::engine::{Link, transfer};
use crate::search::reserved;
use mcpkg_base::error::Result;

/// The statement by which the migrations create the index.
const INDEX: &str = "CREATE VIRTUAL TABLE search USING fts5 (
    project, name, description, body,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2')";

/// The statement by which the migrations create the index of tools.
const TOOL_INDEX: &str = "CREATE VIRTUAL TABLE tool_search USING fts5 (
    name, description, tags,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2')";

/// The query for each occurrence of each word, ordered by word.
const WORDS: &str = "SELECT term, doc, col, \"offset\" FROM temp.words ORDER BY term, doc, col, \"offset\"";

/// Rebuilds the index in a temporary database and compares the two word by word. FTS5's own check, which
/// [`crate::check`] runs, misses lost words and words that lead to the wrong item.
pub(crate) fn compare(connection: &Connection, db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    let others = reserved::reservations(db)?;
    let is_reserved = |doc| others.iter().any(|other| other.ids.contains(&id(doc)));
    if is_another(connection, db, ("search", INDEX), |from, to| transfer::words(from, to, |_| true), is_reserved)? {
        faults.push("the search index does not match the stored content".to_owned());
    }
    if is_another(
        connection,
        db,
        ("tool_search", TOOL_INDEX),
        |from, to| transfer::tool_words(from, to, |_| true),
        |_| false,
    )? {
        faults.push("the search index of tools does not match the listed tools".to_owned());
    }
    Ok(())
}

/// Whether an index differs from a new one that `fill` builds. Ignores rows for which `passes_over` returns true.
fn is_another(
    connection: &Connection,
    db: &Db<'_>,
    (index, made): (&str, &str),
    fill: impl FnOnce(&Db<'_>, &Db<'_>) -> Result<()>,
    passes_over: impl Fn(i64) -> bool,
) -> Result<bool> {
    // A database without a name stays in memory, and SQLite moves it into a temporary file once it is large.
    let again = Connection::open("").map_err(failed)?;
    again.execute_batch(&format!("PRAGMA synchronous = OFF; {made}; BEGIN;")).map_err(failed)?;
    fill(db, &Db::new(Link::Sqlite(&again), None))?;
    let words = format!("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, {index}, instance)");
    again.execute_batch(&words).map_err(failed)?;
    connection.execute_batch(&words).map_err(failed)?;
    let compared = differ(connection, &again, passes_over);
    connection.execute_batch("DROP TABLE temp.words").map_err(failed)?;
    compared
}

/// Whether the indexes of two connections differ. Ignores rows of the first one for which `passes_over` returns true.
fn differ(one: &Connection, other: &Connection, passes_over: impl Fn(i64) -> bool) -> Result<bool> {
    let (mut one, mut other) = (one.prepare(WORDS).map_err(failed)?, other.prepare(WORDS).map_err(failed)?);
    let (mut ones, mut others) = (one.query([]).map_err(failed)?, other.query([]).map_err(failed)?);
    loop {
        let mut one = ones.next().map_err(failed)?;
        while let Some(row) = one
            && passes_over(row.get(1).map_err(failed)?)
        {
            one = ones.next().map_err(failed)?;
        }
        match (one, others.next().map_err(failed)?) {
            (None, None) => return Ok(false),
            (Some(one), Some(other)) if same(one, other).map_err(failed)? => {}
            _ => return Ok(true),
        }
    }
}

fn same(one: &Row<'_>, other: &Row<'_>) -> rusqlite::Result<bool> {
    for column in 0..4 {
        if one.get_ref(column)? != other.get_ref(column)? {
            return Ok(false);
        }
    }
    Ok(true)
}
