//! Deploy locations, and the files that deploys wrote there.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use super::engine::{Row, damaged, params, sql};
use super::{Db, blobs};
use mcpkg_base::disk::Stat;
use mcpkg_base::error::Result;

/// The state of a path at some time: before, now or after a deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    Absent,
    File {
        blob: i64,
        /// The SHA-256 of the bytes.
        sha256: [u8; 32],
        /// The mode: the permission bits.
        mode: u32,
    },
    /// A symbolic link with this target text.
    Link(String),
}

impl Image {
    /// Reads blob, SHA-256, mode and link, beginning at column `first`.
    pub(super) fn from_row(row: &Row<'_>, first: usize) -> Result<Self> {
        if let Some(link) = row.get(first + 3)? {
            return Ok(Image::Link(link));
        }
        Ok(match row.get(first)? {
            None => Image::Absent,
            Some(blob) => Image::File { blob, sha256: row.get(first + 1)?, mode: row.get(first + 2)? },
        })
    }

    /// Returns the values of the columns blob, mode and link.
    pub(super) fn columns(&self) -> (Option<i64>, Option<u32>, Option<&str>) {
        match self {
            Image::Absent => (None, None, None),
            Image::File { blob, mode, .. } => (Some(*blob), Some(*mode), None),
            Image::Link(link) => (None, None, Some(link)),
        }
    }

    /// Returns the SHA-256 of a file's bytes.
    pub fn sha256(&self) -> Option<&[u8; 32]> {
        match self {
            Image::File { sha256, .. } => Some(sha256),
            Image::Absent | Image::Link(_) => None,
        }
    }
}

/// A deploy location: a source, the config folder that it came from, a machine and a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceKey {
    /// `project:<uuid>`, or `repo:<project identity>`.
    pub source: String,
    /// The folder of the config repo; empty for a project.
    pub origin: String,
    pub machine: String,
    pub root: String,
}

/// A deployed file, with its states before the first deploy and after the last one.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The absolute path.
    pub path: String,
    pub place: i64,
    /// The folder of the target that contains the file.
    pub root: String,
    /// The targets that the file was deployed for.
    pub targets: Vec<String>,
    /// The modules that make up the file.
    pub module_ids: Vec<String>,
    /// Whether only a block in the file belongs to mcpkg.
    pub block: bool,
    /// Whether mcpkg wrote the file. False if the file already had the right content.
    pub written: bool,
    /// The file after the last deploy.
    pub applied: Image,
    /// The file before the first deploy.
    pub pristine: Image,
    /// The other attributes of the file before the first deploy, as the column stores them.
    pub pristine_attributes: Option<String>,
    /// The file's metadata after the last deploy; `None` if it would not reveal a later change of the file.
    pub stat: Option<Stat>,
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! deployed_files {
    () => {
        "SELECT d.path, d.place_id, d.root, d.targets, d.module_ids, d.block, d.written,
                d.applied_blob, a.sha256, d.applied_mode, d.applied_link,
                d.pristine_blob, p.sha256, d.pristine_mode, d.pristine_link, d.size, d.mtime, d.ctime, d.inode,
                d.pristine_attributes
           FROM deployed d LEFT JOIN blob a ON a.id = d.applied_blob LEFT JOIN blob p ON p.id = d.pristine_blob"
    };
}

/// The columns that [`key_from_row`] reads.
macro_rules! place_key {
    () => {
        "source, origin, machine, root"
    };
}

/// Returns [`PlaceKey::source`] for a project.
pub fn project_source(project: Uuid) -> String {
    format!("project:{project}")
}

/// Returns the row id of a location; `None` if nothing was ever deployed there.
pub fn place(db: &Db<'_>, key: &PlaceKey) -> Result<Option<i64>> {
    let sql = sql!("SELECT id FROM place WHERE source = ?1 AND origin = ?2 AND machine = ?3 AND root = ?4");
    db.one(sql, params![key.source, key.origin, key.machine, key.root], |row| row.get(0))
}

/// Returns the row id of a location. Adds the location if it is new.
pub fn make_place(db: &Db<'_>, key: &PlaceKey) -> Result<i64> {
    if let Some(id) = place(db, key)? {
        return Ok(id);
    }
    let sql = sql!(
        "INSERT INTO place (source, origin, machine, root) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (source, origin, machine, root) DO NOTHING RETURNING id"
    );
    let made = db.one(sql, params![key.source, key.origin, key.machine, key.root], |row| row.get(0))?;
    // Another process may have added the location since the check above.
    made.map_or_else(|| place(db, key), |id| Ok(Some(id)))?
        .ok_or_else(|| blobs::damaged_value("a deploy location was neither inserted nor found"))
}

/// Returns the [`PlaceKey`] of the location with this row id.
pub fn place_key(db: &Db<'_>, place: i64) -> Result<PlaceKey> {
    db.single(sql!("SELECT ", place_key!(), " FROM place WHERE id = ?1"), params![place], key_from_row)
}

fn key_from_row(row: &Row<'_>) -> Result<PlaceKey> {
    Ok(PlaceKey { source: row.get(0)?, origin: row.get(1)?, machine: row.get(2)?, root: row.get(3)? })
}

/// Returns the files of a location, ordered by path.
pub fn of_place(db: &Db<'_>, place: i64) -> Result<Vec<Deployed>> {
    db.all(sql!(deployed_files!(), " WHERE d.place_id = ?1 ORDER BY d.path"), params![place], from_row)
}

/// Returns the names of all targets that the files of a location were deployed for.
pub fn targets_of_place(db: &Db<'_>, place: i64) -> Result<BTreeSet<String>> {
    let sql = sql!("SELECT DISTINCT targets FROM deployed WHERE place_id = ?1");
    Ok(db.all(sql, params![place], |row| words(row, 0))?.into_iter().flatten().collect())
}

/// Returns the file at a path of a machine, in any location.
pub fn at(db: &Db<'_>, machine: &str, path: &str) -> Result<Option<Deployed>> {
    db.one(sql!(deployed_files!(), " WHERE d.machine = ?1 AND d.path = ?2"), params![machine, path], from_row)
}

/// Returns a root that still contains files written from a source, on any machine; `None` if there is none. Does not
/// count files that already had the right content, or paths without a file both now and before the first deploy.
pub fn root_of_source(db: &Db<'_>, source: &str) -> Result<Option<String>> {
    let sql = sql!(
        "SELECT place.root FROM deployed JOIN place ON place.id = place_id
          WHERE source = ?1 AND written = 1
            AND (coalesce(applied_blob, pristine_blob) IS NOT NULL OR coalesce(applied_link, pristine_link) IS NOT NULL)
          ORDER BY 1 LIMIT 1"
    );
    db.one(sql, params![source], |row| row.get(0))
}

/// Stores the rows of files. Their paths then belong to these locations.
pub fn put(db: &Db<'_>, machine: &str, files: &[Deployed]) -> Result<()> {
    let lists: Vec<_> = files.iter().map(|file| (list(&file.targets), list(&file.module_ids))).collect();
    let images: Vec<_> = files.iter().map(|file| (file.applied.columns(), file.pristine.columns())).collect();
    let stat = |file: &Deployed| file.stat.as_ref().map(|stat| [stat.size, stat.mtime, stat.ctime, stat.inode]);
    let stats: Vec<[Option<i64>; 4]> =
        files.iter().map(|file| stat(file).map_or([None; 4], |stat| stat.map(Some))).collect();
    let rows: Vec<_> = files
        .iter()
        .zip(&lists)
        .zip(&images)
        .zip(&stats)
        .map(|(((file, lists), (applied, pristine)), stat)| {
            params![
                machine,
                file.path,
                file.place,
                file.root,
                lists.0,
                lists.1,
                file.block,
                file.written,
                applied.0,
                applied.1,
                applied.2,
                pristine.0,
                pristine.1,
                pristine.2,
                stat[0],
                stat[1],
                stat[2],
                stat[3],
                file.pristine_attributes,
            ]
            .to_vec()
        })
        .collect();
    // Do not combine the two statements with DO UPDATE. Such a statement can change columns with foreign keys, so SQLite
    // first copies the pages that it changes to a temporary file: 80 MB for 7,000 new files.
    let insert = sql!(
        "INSERT INTO deployed (machine, path, place_id, root, targets, module_ids, block, written,
           applied_blob, applied_mode, applied_link, pristine_blob, pristine_mode, pristine_link,
           size, mtime, ctime, inode, pristine_attributes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
         ON CONFLICT (machine, path) DO NOTHING"
    );
    let inserted = db.run_for_each(insert, &rows)?;
    let update = sql!(
        "UPDATE deployed SET
           place_id = ?3, root = ?4, targets = ?5, module_ids = ?6, block = ?7, written = ?8,
           applied_blob = ?9, applied_mode = ?10, applied_link = ?11, pristine_blob = ?12, pristine_mode = ?13,
           pristine_link = ?14, size = ?15, mtime = ?16, ctime = ?17, inode = ?18, pristine_attributes = ?19
          WHERE machine = ?1 AND path = ?2"
    );
    let known: Vec<_> = rows.into_iter().zip(inserted).filter(|(_, count)| *count == 0).map(|(row, _)| row).collect();
    db.run_for_each(update, &known).map(drop)
}

/// Removes paths from a location. Other locations are not affected.
pub fn forget(db: &Db<'_>, machine: &str, place: i64, paths: &[&str]) -> Result<()> {
    let sql = sql!("DELETE FROM deployed WHERE machine = ?1 AND path = ?2 AND place_id = ?3");
    let rows: Vec<_> = paths.iter().map(|path| params![machine, *path, place].to_vec()).collect();
    db.run_for_each(sql, &rows).map(drop)
}

/// Returns the locations that contain files of a source, to name them in a message.
pub fn places_of(db: &Db<'_>, source: &str) -> Result<Vec<PlaceKey>> {
    let sql = sql!(
        "SELECT ",
        place_key!(),
        " FROM place WHERE source = ?1 AND EXISTS (SELECT 1 FROM deployed WHERE place_id = place.id) ORDER BY id"
    );
    db.all(sql, params![source], key_from_row)
}

/// Returns the locations of a machine that have files, with their row ids, ordered by root.
pub fn places_on(db: &Db<'_>, machine: &str) -> Result<Vec<(i64, PlaceKey)>> {
    let sql = sql!(
        "SELECT ",
        place_key!(),
        ", id FROM place WHERE machine = ?1 AND EXISTS (SELECT 1 FROM deployed WHERE place_id = place.id) ORDER BY root, id"
    );
    db.all(sql, params![machine], |row| Ok((row.get(4)?, key_from_row(row)?)))
}

/// Encodes a list of words for its column.
pub(super) fn list(words: &[String]) -> String {
    Value::from(words).to_string()
}

/// Decodes a list of words from its column.
pub(super) fn words(row: &Row<'_>, column: usize) -> Result<Vec<String>> {
    serde_json::from_str(row.get(column)?).map_err(|error| damaged("a list of words is malformed").with_source(error))
}

fn from_row(row: &Row<'_>) -> Result<Deployed> {
    let stat = match row.get(15)? {
        None => None,
        Some(size) => Some(Stat { size, mtime: row.get(16)?, ctime: row.get(17)?, inode: row.get(18)? }),
    };
    Ok(Deployed {
        path: row.get(0)?,
        place: row.get(1)?,
        root: row.get(2)?,
        targets: words(row, 3)?,
        module_ids: words(row, 4)?,
        block: row.get(5)?,
        written: row.get(6)?,
        applied: Image::from_row(row, 7)?,
        pristine: Image::from_row(row, 11)?,
        pristine_attributes: row.get(19)?,
        stat,
    })
}
