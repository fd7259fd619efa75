//! Skills: the resources below `skill://NAME/`, `SKILL.md` among them, and the prompts that can pass for one.

use rusqlite::params;

use super::Db;
use super::page::{Page, Slice};
use super::prompts::{self, Prompt};
use super::resources::{self, Resource};
use crate::error::Result;

/// A file of a skill.
#[derive(Clone, Debug)]
pub struct File {
    /// Its row.
    pub resource: Resource,
    /// The SHA-256 of its content.
    pub sha256: [u8; 32],
}

/// Returns a page of the names below which there is a `SKILL.md`, in the order of their URIs.
///
/// # Errors
/// How the disk failed.
pub fn names(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<String>> {
    // Of `skill://NAME/SKILL.md`: 8 bytes before the name, 9 after it.
    let mut statement = db.connection.prepare_cached(
        "SELECT substr(uri, 9, length(uri) - 17) FROM resource
          WHERE project_id = ?1 AND uri > ?2 AND uri < 'skill:/0' AND substr(uri, -9) = '/SKILL.md'
            AND length(uri) > 17 AND instr(substr(uri, 9, length(uri) - 17), '/') = 0
          ORDER BY uri LIMIT ?3",
    )?;
    let after = if page.after.is_empty() { "skill://".to_owned() } else { format!("skill://{}/SKILL.md", page.after) };
    let rows = statement.query_map(params![project, after, page.fetch()], |row| row.get(0))?;
    Ok(page.slice(rows.collect::<rusqlite::Result<_>>()?))
}

/// Returns the files below `skill://NAME/`, by URI.
///
/// # Errors
/// How the disk failed.
pub fn files(db: &Db<'_>, project: i64, name: &str) -> Result<Vec<File>> {
    let sql = [resources::QUERY, " WHERE r.project_id = ?1 AND r.uri > ?2 AND r.uri < ?3 ORDER BY r.uri"].concat();
    let (from, to) = (format!("skill://{name}/"), format!("skill://{name}0"));
    db.all(&sql, params![project, from, to], |row| {
        Ok(File { resource: resources::from_row(row)?, sha256: row.get("sha256")? })
    })
}

/// Returns a page of the prompts by name that have the name of a skill, where no `SKILL.md` is stored under it.
///
/// # Errors
/// How the disk failed.
pub fn prompts(db: &Db<'_>, project: i64, page: &Page) -> Result<Slice<Prompt>> {
    let sql = [
        prompts::QUERY,
        " WHERE p.project_id = ?1 AND p.name > ?2 AND length(p.name) <= 64 AND p.name NOT GLOB '*[^a-z0-9-]*'
            AND p.name NOT GLOB '-*' AND p.name NOT GLOB '*-' AND p.name NOT GLOB '*--*'
            AND NOT EXISTS (SELECT 1 FROM resource
                             WHERE project_id = ?1 AND uri = 'skill://' || p.name || '/SKILL.md')
          ORDER BY p.name LIMIT ?3",
    ]
    .concat();
    Ok(page.slice(db.all(&sql, params![project, page.after, page.fetch()], prompts::from_row)?))
}
