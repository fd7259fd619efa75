//! Links of an imported tree, which an export makes again.

use super::Db;
use super::engine::{params, sql};
use crate::error::Result;

/// A link that is one thing with what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it stood below what was imported, `/` between.
    pub path: String,
    /// Its text: where it leads, from the folder in which it stands.
    pub target: String,
}

/// Returns a project's links by path.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Link>> {
    db.all(sql!("SELECT path, target FROM link WHERE project_id = ?1 ORDER BY path"), params![project], |row| {
        Ok(Link { path: row.get(0)?, target: row.get(1)? })
    })
}

/// Keeps a link, in place of the one that stood there.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn put(db: &Db<'_>, project: i64, link: &Link) -> Result<()> {
    let sql = sql!(
        "INSERT INTO link (project_id, path, target) VALUES (?1, ?2, ?3)
         ON CONFLICT (project_id, path) DO UPDATE SET target = excluded.target"
    );
    db.run(sql, params![project, link.path, link.target]).map(drop)
}

/// Forgets the link at a path.
///
/// # Errors
/// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn delete(db: &Db<'_>, project: i64, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM link WHERE project_id = ?1 AND path = ?2"), params![project, path]).map(drop)
}
