//! Second places of files of an imported tree, links and copies, which an export makes again.

use super::Db;
use super::engine::{params, sql};
use crate::error::Result;

/// A place at which a file, or a folder of files, stood once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it stood below what was imported, `/` between.
    pub path: String,
    /// What stood there.
    pub target: Target,
}

/// What stood at a second place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A symbolic link with this text: where it leads, from the folder in which it stands. It leads to somewhere below what was
    /// imported, and never begins with `/`.
    Link(String),
    /// A file with the bytes and the mode of the one at this path below what was imported.
    Copy(String),
}

/// What the column `target` of a copy begins with; the text of no link does.
const COPY: char = '/';

/// Returns a project's links and copies by path.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Link>> {
    db.all(sql!("SELECT path, target FROM link WHERE project_id = ?1 ORDER BY path"), params![project], |row| {
        let text: String = row.get(1)?;
        let target = match text.strip_prefix(COPY) {
            Some(original) => Target::Copy(original.to_owned()),
            None => Target::Link(text),
        };
        Ok(Link { path: row.get(0)?, target })
    })
}

/// Keeps a link or copy, in place of the one that stood there.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn put(db: &Db<'_>, project: i64, link: &Link) -> Result<()> {
    let target = match &link.target {
        Target::Link(text) => text.clone(),
        Target::Copy(original) => format!("{COPY}{original}"),
    };
    let sql = sql!(
        "INSERT INTO link (project_id, path, target) VALUES (?1, ?2, ?3)
         ON CONFLICT (project_id, path) DO UPDATE SET target = excluded.target"
    );
    db.run(sql, params![project, link.path, target]).map(drop)
}

/// Forgets the link or copy at a path.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn delete(db: &Db<'_>, project: i64, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM link WHERE project_id = ?1 AND path = ?2"), params![project, path]).map(drop)
}
