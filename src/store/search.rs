//! Full-text search over prompts and textual resources (FTS5).

use rusqlite::params;

use super::Db;
use super::revisions::Kind;
use super::sums::{self, DAMAGED, checksum};
use crate::error::Result;

/// MiB of a text whose words are found: the index is made in memory.
pub const INDEXED: usize = 16;

/// A prompt or resource that holds the words, best first.
#[derive(Clone, Debug)]
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// The name of its project.
    pub project: String,
    /// Its name.
    pub name: String,
    /// A resource's URI.
    pub uri: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// How well it fits; higher is better, only comparable within one search.
    pub score: f64,
    /// The key of its content.
    pub blob: i64,
}

/// Puts the words of an item, of its first [`INDEXED`] MiB, into the index in place of those it had.
pub(super) fn index(
    db: &Db<'_>,
    kind: Kind,
    id: i64,
    project: i64,
    name: &str,
    description: Option<&str>,
    body: &str,
) -> Result<()> {
    let body = &body[..body.floor_char_boundary(INDEXED << 20)];
    db.connection
        .prepare_cached(
            "INSERT OR REPLACE INTO search (rowid, project, name, description, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![rowid(kind, id), format!("p{project}"), name, description.unwrap_or(""), body])?;
    Ok(())
}

/// Takes an item out of the index.
pub(super) fn unindex(db: &Db<'_>, kind: Kind, id: i64) -> Result<()> {
    db.connection.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([rowid(kind, id)])?;
    Ok(())
}

/// Takes all items of a project out of the index.
pub(super) fn unindex_project(db: &Db<'_>, project: i64) -> Result<()> {
    for items in ["SELECT 2 * id FROM prompt", "SELECT 2 * id + 1 FROM resource"] {
        let sql = format!("DELETE FROM search WHERE rowid IN ({items} WHERE project_id = ?1)");
        db.connection.prepare_cached(&sql)?.execute([project])?;
    }
    Ok(())
}

/// Returns the best `limit` items that hold all of `words`, or the beginnings of words; in one project or in all.
///
/// # Errors
/// How the disk failed.
pub fn find(db: &Db<'_>, project: Option<i64>, words: &[&str], limit: usize) -> Result<Vec<Hit>> {
    // Each word is a quoted string with a star: no character of it is query syntax, but U+0000, which ends the query.
    let quoted = |word: &&str| format!("\"{}\"*", word.replace('\0', " ").replace('"', "\"\""));
    let words: Vec<String> = words.iter().map(quoted).collect();
    let mut query = format!("{{name description body}} : ({})", words.join(" AND "));
    if let Some(project) = project {
        query = format!("project : \"p{project}\" AND {query}");
    }
    let mut statement = db.connection.prepare_cached(
        "WITH hit AS MATERIALIZED (
           SELECT rowid AS id, bm25(search, 0, 10, 4, 1) AS badness FROM search
            WHERE search MATCH ?1 ORDER BY badness LIMIT ?2)
         SELECT 'prompt', project.name, prompt.name, NULL, prompt.description, badness, prompt.blob_id,
                project_id, arguments, listed_sum
           FROM hit JOIN prompt ON prompt.id = hit.id / 2 JOIN project ON project.id = project_id
          WHERE hit.id % 2 = 0
         UNION ALL
         SELECT 'resource', project.name, resource.name, uri, resource.description, badness, resource.blob_id,
                project_id, mime_type, listed_sum
           FROM hit JOIN resource ON resource.id = hit.id / 2 JOIN project ON project.id = project_id
          WHERE hit.id % 2 = 1
         ORDER BY badness, 2, 3",
    )?;
    let rows = statement.query_map(params![query, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        let kind = if row.get_ref(0)?.as_str()? == "prompt" { Kind::Prompt } else { Kind::Resource };
        // What lists show, in the order in which the checksum is over it; a prompt has no URI.
        let listed: &[usize] = if kind == Kind::Prompt { &[7, 2, 4, 8] } else { &[7, 2, 3, 4, 8] };
        let values = listed.iter().map(|column| row.get_ref(*column)).collect::<rusqlite::Result<Vec<_>>>()?;
        let damaged = row.get::<_, i64>(9)? != checksum(values);
        Ok(Hit {
            kind,
            project: row.get(1)?,
            name: if damaged { sums::legible(row, 2) } else { row.get(2)? },
            uri: if damaged { None } else { row.get(3)? },
            description: if damaged { Some(DAMAGED.to_owned()) } else { row.get(4)? },
            score: -row.get::<_, f64>(5)?,
            blob: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn rowid(kind: Kind, id: i64) -> i64 {
    match kind {
        Kind::Prompt => id.wrapping_mul(2),
        Kind::Resource => id.wrapping_mul(2).wrapping_add(1),
    }
}
