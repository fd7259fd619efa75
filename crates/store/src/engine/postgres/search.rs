//! Full-text search with `tsvector`.
//!
//! A row of the index has the id `2 * prompt.id` or `2 * resource.id + 1`. It holds each word once, with the weight
//! of the place where it occurs first: the name, the description, or the text. This limits the row's size, as
//! PostgreSQL requires.
//!
//! A query such as `foo-bar` is split into words, and a query in a script without spaces into pairs of letters. The
//! search finds texts that contain all of them, in any order.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::sql::postgres_sql;
use crate::Db;
use crate::blobs::{Blob, blob_columns};
use crate::engine::{hits, params};
use crate::revisions::Kind;
use crate::search::{Ends, Hit, cut, is_spaceless, query_word};
use mcpkg_base::error::Result;

/// The maximum size, in bytes, of the words in a row of the index. Words beyond it are not found. PostgreSQL allows 1
/// MiB, including its own overhead.
const MOST: usize = 640 * 1024;

/// The maximum size of a word in bytes. The rest of a longer word is ignored.
const LONGEST: usize = 256;

/// The words of one item, without duplicates.
struct Words {
    seen: HashSet<String>,
    size: usize,
}

impl Words {
    /// Returns the new words of a text, separated by spaces: those that were not added before.
    fn add(&mut self, text: &str) -> String {
        let mut added = String::new();
        for word in words(&cut(text)) {
            if self.size + word.len() > MOST {
                break;
            }
            if !self.seen.contains(&word) {
                // PostgreSQL stores a position with each word: count 8 bytes for it.
                self.size += word.len() + 8;
                added.push_str(&word);
                added.push(' ');
                self.seen.insert(word);
            }
        }
        added
    }
}

/// Returns the words of a normalized text: letters and digits, in lower case and without diacritics.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c)).filter(|word| !word.is_empty()).filter_map(
        |word| {
            let plain: String = if word.is_ascii() {
                word.to_ascii_lowercase()
            } else if word.starts_with(is_spaceless) {
                // Hangul stays composed. Decomposed, one syllable would become two or three letters.
                word.to_owned()
            } else {
                word.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect()
            };
            let plain = &plain[..plain.floor_char_boundary(LONGEST)];
            (!plain.is_empty()).then(|| plain.to_owned())
        },
    )
}

/// Returns the query for texts that contain the words of `given`, combined by the operator `joined`. With `prefix`,
/// longer words that begin with a word of `given` match, too. `None` if `given` contains no word.
pub(super) fn query<'w>(given: impl IntoIterator<Item = &'w str>, joined: &str, prefix: bool) -> Option<String> {
    let terms: Vec<String> = given
        .into_iter()
        .map(|given| {
            let (given, ends) = query_word(given);
            let mut parts: Vec<String> = words(&given).map(|word| format!("'{word}'")).collect();
            let begins = ends == Ends::Letter || (prefix && ends == Ends::Word);
            if let (true, Some(last)) = (begins, parts.last_mut()) {
                last.push_str(":*");
            }
            parts.join(" & ")
        })
        .filter(|term| !term.is_empty())
        .map(|term| format!("({term})"))
        .collect();
    (!terms.is_empty()).then(|| terms.join(joined))
}

/// Replaces the words of an item in the index.
pub(crate) fn index(
    db: &Db<'_>,
    (kind, id): (Kind, i64),
    project: i64,
    name: &str,
    description: &str,
    body: &str,
) -> Result<()> {
    let mut words = Words { seen: HashSet::new(), size: 0 };
    let (name, description) = (words.add(name), words.add(description));
    let sql = postgres_sql!(
        "INSERT INTO search (id, project_id, words)
         VALUES (?1, ?2, setweight(to_tsvector('words', ?3), 'A') || setweight(to_tsvector('words', ?4), 'B')
                         || to_tsvector('words', ?5))
         ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, words = excluded.words"
    );
    let body = words.add(body);
    db.run(sql, params![row_id(kind, id), project, name, description, body]).map(drop)
}

/// Removes an item from the index.
pub(crate) fn unindex(db: &Db<'_>, (kind, id): (Kind, i64)) -> Result<()> {
    db.run(postgres_sql!("DELETE FROM search WHERE id = ?1"), params![row_id(kind, id)]).map(drop)
}

/// Removes all items of a project from the index.
pub(crate) fn unindex_project(db: &Db<'_>, project: i64) -> Result<()> {
    db.run(postgres_sql!("DELETE FROM search WHERE project_id = ?1"), params![project]).map(drop)
}

/// Implements [`crate::search::find`], except for the order.
pub(crate) fn find(
    db: &Db<'_>,
    project: Option<i64>,
    words: &[&str],
    limit: i64,
    mut each: impl FnMut(Hit, Option<Blob<'_>>) -> Result<()>,
) -> Result<()> {
    let Some(query) = query(words.iter().copied(), " & ", true) else { return Ok(()) };
    let sql = postgres_sql!(
        "WITH hit AS MATERIALIZED (
           SELECT id, -ts_rank('{0.1, 0.1, 0.4, 1.0}', words, to_tsquery('words', ?1))::float8 AS badness FROM search
            WHERE words @@ to_tsquery('words', ?1) AND (?3::bigint IS NULL OR project_id = ?3)
            ORDER BY badness, id LIMIT ?2)
         SELECT 'prompt', project.name, prompt.name, NULL, prompt.description, badness,
                prompt.project_id, arguments, listed_sum, ",
        blob_columns!(),
        " FROM hit JOIN prompt ON prompt.id = hit.id / 2 JOIN project ON project.id = prompt.project_id
               LEFT JOIN blob b ON b.id = prompt.blob_id
          WHERE hit.id % 2 = 0
         UNION ALL
         SELECT 'resource', project.name, resource.name, uri, resource.description, badness,
                resource.project_id, mime_type, listed_sum, ",
        blob_columns!(),
        " FROM hit JOIN resource ON resource.id = hit.id / 2 JOIN project ON project.id = resource.project_id
               LEFT JOIN blob b ON b.id = resource.blob_id
          WHERE hit.id % 2 = 1"
    );
    db.each(sql, params![query, limit, project], |row| {
        let content = row.get::<Option<i64>>(9)?.map(|_| Blob::from_row(row, 9)).transpose()?;
        each(hits::hit(row)?, content)
    })
}

/// Reports items and tools without a row in the index, and rows without an item or a tool.
pub(crate) fn compare(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    let items = postgres_sql!(
        "SELECT count(*) FROM search FULL JOIN (
           SELECT 2 * id AS id, project_id FROM prompt
            UNION ALL SELECT 2 * id + 1, project_id FROM resource WHERE text = 1) AS item USING (id)
          WHERE search.project_id IS DISTINCT FROM item.project_id"
    );
    if db.single(items, params![], |row| row.get::<i64>(0))? > 0 {
        faults.push("the search index does not match the stored content".to_owned());
    }
    let tools = postgres_sql!(
        "SELECT count(*) FROM tool_search AS s FULL JOIN tool_listing AS l ON l.id = s.rowid
          WHERE l.id IS NULL OR s.rowid IS NULL"
    );
    if db.single(tools, params![], |row| row.get::<i64>(0))? > 0 {
        faults.push("the search index of tools does not match the listed tools".to_owned());
    }
    Ok(())
}

fn row_id(kind: Kind, id: i64) -> i64 {
    match kind {
        Kind::Prompt => id.wrapping_mul(2),
        Kind::Resource => id.wrapping_mul(2).wrapping_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_normalized() {
        let found: Vec<String> = words(&cut("Über-Größe foo_bar e\u{301}t\u{e9} 1.5 日本 한국어 が")).collect();
        let pairs = ["日本", "本", "한국", "국어", "어", "が"];
        assert_eq!(found, [&["uber", "große", "foo", "bar", "ete", "1", "5"][..], &pairs].concat());
    }

    #[test]
    fn a_query_contains_no_syntax_from_the_user() {
        assert_eq!(query(["foo-bar", "'); DROP"], " & ", true).as_deref(), Some("('foo' & 'bar':*) & ('drop':*)"));
        assert_eq!(query(["a:*", "b|c"], " | ", false).as_deref(), Some("('a') | ('b' & 'c')"));
        assert_eq!(query(["!&", ""], " & ", true), None);
        assert_eq!(query(["日本語"], " & ", true).as_deref(), Some("('日本' & '本語')"));
        assert_eq!(query(["本", "a"], " & ", false).as_deref(), Some("('本':*) & ('a')"));
    }
}
