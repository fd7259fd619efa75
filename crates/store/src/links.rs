//! Duplicates of items' files in an imported tree: links, copies and variants. An export writes them again. A variant
//! means the same as the item's file, but its bytes or its mode differ. Also remembers which files were stored with changes.

use super::engine::{params, sql};
use super::{Db, blobs};
use mcpkg_base::error::{Error, Result};

/// A duplicate of a file or a folder of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The path relative to the import, with `/` as separator.
    pub path: String,
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A symbolic link with this text, relative to the link's folder. It points to something inside the import, and
    /// never begins with `/`.
    Link(String),
    /// A file with the same bytes and mode as the file at this path, which is relative to the import.
    Copy(String),
    /// A file with the same meaning as another file, but with other bytes or another mode.
    Variant(Variant),
    /// Not a duplicate: the item at this path was stored with changes, for this reason, so its file cannot be restored.
    Altered(String),
}

/// A file with the same meaning as another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The path of the other file, relative to the import. It is this file's own path if the item at this path has
    /// other bytes or another mode.
    pub of: String,
    /// The SHA-256 of this file's bytes, which are stored.
    pub sha256: [u8; 32],
    pub executable: bool,
}

/// The first character of the column `target` for a copy or variant. The text of a symbolic link never begins with
/// it.
const ABOVE: char = '/';

/// The beginning of the column `target` for a file that was stored with changes. No path in an import begins with `/`.
const ALTERED: &str = "//";

/// Returns a project's duplicates, ordered by path.
pub fn all(db: &Db<'_>, project: i64) -> Result<Vec<Link>> {
    let sql = sql!(
        "SELECT link.path, link.target, blob.sha256, link.executable FROM link LEFT JOIN blob ON blob.id = link.blob_id
          WHERE link.project_id = ?1 ORDER BY link.path"
    );
    db.all(sql, params![project], |row| {
        let text: String = row.get(1)?;
        if let Some(why) = text.strip_prefix(ALTERED) {
            return Ok(Link { path: row.get(0)?, target: Target::Altered(why.to_owned()) });
        }
        let target = match (text.strip_prefix(ABOVE), row.get(2)?) {
            (Some(of), Some(sha256)) => Target::Variant(Variant { of: of.to_owned(), sha256, executable: row.get(3)? }),
            (Some(original), None) => Target::Copy(original.to_owned()),
            (None, _) => Target::Link(text),
        };
        Ok(Link { path: row.get(0)?, target })
    })
}

/// Stores a duplicate, replacing any other at the same path. The content of a variant must already be stored.
pub fn put(db: &Db<'_>, project: i64, link: &Link) -> Result<()> {
    let (target, blob, executable) = match &link.target {
        Target::Link(text) => (text.clone(), None, false),
        Target::Copy(original) => (format!("{ABOVE}{original}"), None, false),
        Target::Altered(why) => (format!("{ALTERED}{why}"), None, false),
        Target::Variant(variant) => {
            let blob = blobs::by_hash(db, &variant.sha256)?
                .ok_or_else(|| Error::internal("an item's version for another agent is not stored"))?;
            (format!("{ABOVE}{}", variant.of), Some(blob), variant.executable)
        }
    };
    let sql = sql!(
        "INSERT INTO link (project_id, path, target, blob_id, executable) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (project_id, path) DO UPDATE
         SET target = excluded.target, blob_id = excluded.blob_id, executable = excluded.executable"
    );
    db.run(sql, params![project, link.path, target, blob, executable]).map(drop)
}

/// Removes the duplicate at a path.
pub fn delete(db: &Db<'_>, project: i64, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM link WHERE project_id = ?1 AND path = ?2"), params![project, path]).map(drop)
}
