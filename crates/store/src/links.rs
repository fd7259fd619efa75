//! Second places of an item in an imported tree, which an export restores: links, copies, and files with the same
//! meaning in different bytes.

use super::engine::{params, sql};
use super::{Db, blobs};
use mcpkg_base::error::{Error, Result};

/// A place at which a file, or a folder of files, stood once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its path relative to the import, with `/` as separator.
    pub path: String,
    pub target: Target,
}

/// What was at a second place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A symbolic link with this text: where it leads, from the folder in which it stands. It leads to somewhere below what was
    /// imported, and never begins with `/`.
    Link(String),
    /// A file with the bytes and the mode of the one at this path below what was imported.
    Copy(String),
    /// A file that says what the one at another path says, in other bytes or with another mode.
    Form(Form),
}

/// A file that says what another one says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The path of that one below what was imported. It is the file's own where an item has its path and not all of its bytes and mode.
    pub of: String,
    /// The SHA-256 of what stood there, which is stored.
    pub sha256: [u8; 32],
    /// Whether it could be executed.
    pub executable: bool,
}

/// The first character of the column `target` for a copy or form; no link's text begins with it.
const ABOVE: char = '/';

/// Returns a project's second places by path.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Link>> {
    let sql = sql!(
        "SELECT link.path, link.target, blob.sha256, link.executable FROM link LEFT JOIN blob ON blob.id = link.blob_id
          WHERE link.project_id = ?1 ORDER BY link.path"
    );
    db.all(sql, params![project], |row| {
        let text: String = row.get(1)?;
        let target = match (text.strip_prefix(ABOVE), row.get(2)?) {
            (Some(of), Some(sha256)) => Target::Form(Form { of: of.to_owned(), sha256, executable: row.get(3)? }),
            (Some(original), None) => Target::Copy(original.to_owned()),
            (None, _) => Target::Link(text),
        };
        Ok(Link { path: row.get(0)?, target })
    })
}

/// Keeps a second place, instead of the one that stood there. What a form says is stored before.
pub fn put(db: &Db<'_>, project: i64, link: &Link) -> Result<()> {
    let (target, blob, executable) = match &link.target {
        Target::Link(text) => (text.clone(), None, false),
        Target::Copy(original) => (format!("{ABOVE}{original}"), None, false),
        Target::Form(form) => {
            let blob = blobs::by_hash(db, &form.sha256)?
                .ok_or_else(|| Error::internal("an item's version for another agent is not stored"))?;
            (format!("{ABOVE}{}", form.of), Some(blob), form.executable)
        }
    };
    let sql = sql!(
        "INSERT INTO link (project_id, path, target, blob_id, executable) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project_id, path) DO UPDATE
         SET target = excluded.target, blob_id = excluded.blob_id, executable = excluded.executable"
    );
    db.run(sql, params![project, link.path, target, blob, executable]).map(drop)
}

/// Forgets the second place at a path.
pub fn delete(db: &Db<'_>, project: i64, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM link WHERE project_id = ?1 AND path = ?2"), params![project, path]).map(drop)
}
