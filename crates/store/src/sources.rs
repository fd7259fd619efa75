//! Sources of a project's content, and the items that mcpkg made from their files when it last read them.

use serde::{Deserialize, Serialize};

use super::Db;
use super::blobs::damaged_value;
use super::engine::{Row, Unique, params, sql};
use super::projects::Project;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};

const NAME: Unique = Unique::new("source", &["project_id", "name"]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Git,
    /// A folder on this machine.
    Folder,
}

impl Kind {
    /// Returns the kind's name, as it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Git => "git",
            Kind::Folder => "folder",
        }
    }
}

/// Options for reading a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Patterns that select files. A file is imported if it matches at least one of them. Without patterns, all files
    /// are imported. Patterns that begin with `!` exclude files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Prefix for the names of the source's items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The kind of items to import the files as, instead of the kind that follows from their paths.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The plugins to take, by their names in the source's marketplace. Empty means the whole source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
    #[serde(default, skip_serializing_if = "Takes::is_all")]
    pub takes: Takes,
}

/// Which of a source's files become items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takes {
    /// All files. Sources that were added before this setting existed have this value.
    #[default]
    All,
    /// The files that an agent of the project would read.
    Agents,
    /// Like `Agents`, plus the files that no agent reads, which become documents.
    Documents,
}

impl Takes {
    /// Whether all files are taken.
    pub const fn is_all(&self) -> bool {
        matches!(self, Takes::All)
    }
}

/// Everything about a source except its key, its items, its times and the plugins that its marketplace lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub name: String,
    pub kind: Kind,
    /// The URL that git fetches from, or the folder's path.
    pub url: String,
    /// The full name of the branch or tag to follow; `None` for a commit or a folder.
    pub reference: Option<String>,
    /// The folder in the repository, with `/` as separator; empty for all of it.
    pub path: String,
    pub choice: Choice,
    /// The commit from which the items were last read; `None` for a folder.
    pub commit: Option<String>,
    /// A SHA-256 that covers the paths, modes and SHA-256 of all files that became items.
    pub digest: [u8; 32],
}

#[derive(Clone, Debug)]
pub struct SourceRow {
    pub id: i64,
    pub origin: Origin,
    /// The plugins that the source's marketplace listed when it was last read; `None` if it has no marketplace.
    pub plugins: Option<Vec<String>>,
    pub added_at: Millis,
    pub updated_at: Millis,
}

/// An item that was made from a file of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// The file's path in the source, with `/` as separator.
    pub path: String,
    /// The item: `prompt:<uuid>` or `resource:<uuid>`.
    pub item: String,
    /// The item's name, its attributes and when it applies, as JSON, as of the last version that was merged or
    /// decided on.
    pub entry: String,
    /// The key of the content of the version in `entry`.
    pub blob: i64,
    /// The SHA-256 of the file's bytes in the source.
    pub sha256: [u8; 32],
    pub executable: bool,
    /// Whether other files became the same item, or the file was reached through a link.
    pub shared: bool,
    /// The open proposal about the item.
    pub proposal: Option<i64>,
}

/// Adds a source.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the name is taken.
pub fn insert(db: &Db<'_>, project: &Project, origin: &Origin, plugins: Option<&[String]>, now: Millis) -> Result<i64> {
    let Origin { name, kind, url, reference, path, choice, commit, digest } = origin;
    let (choice, plugins) =
        (super::items::json(choice)?, plugins.map(|plugins| super::items::json(&plugins)).transpose()?);
    let sql = sql!(
        "INSERT INTO source
           (project_id, name, kind, url, ref, path, choice, commit_id, digest, plugins, added_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11) RETURNING id"
    );
    let kind = kind.word();
    db.insert(sql, params![project.id, name, kind, url, reference, path, choice, commit, digest, plugins, now]).map_err(
        |error| match NAME.is_violated_by(&error) {
            true => name_taken(project, name),
            false => error,
        },
    )
}

pub fn name_taken(project: &Project, name: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("Project '{}' already has a source '{name}'", project.name)).hint(format!(
        "`mcpkg source update {name}` updates the source; to add another source, give it a different \
            name with `--name`"
    ))
}

/// Records that a source's items were read again, with the commit, the digest and the plugins that were found.
pub fn set_read(
    db: &Db<'_>,
    id: i64,
    commit: Option<&str>,
    digest: &[u8; 32],
    plugins: Option<&[String]>,
    now: Millis,
) -> Result<()> {
    let plugins = plugins.map(|plugins| super::items::json(&plugins)).transpose()?;
    let sql = sql!("UPDATE source SET commit_id = ?2, digest = ?3, plugins = ?4, updated_at = ?5 WHERE id = ?1");
    db.run(sql, params![id, commit, digest, plugins, now]).map(drop)
}

pub fn set_choice(db: &Db<'_>, id: i64, choice: &Choice) -> Result<()> {
    let choice = super::items::json(choice)?;
    db.run(sql!("UPDATE source SET choice = ?2 WHERE id = ?1"), params![id, choice]).map(drop)
}

/// The columns that [`from_row`] reads.
macro_rules! source_columns {
    () => {
        "id, name, kind, url, ref, path, choice, commit_id, digest, plugins, added_at, updated_at"
    };
}

/// Returns the sources of a project, ordered by name.
pub fn list(db: &Db<'_>, project: i64) -> Result<Vec<SourceRow>> {
    let sql = sql!("SELECT ", source_columns!(), " FROM source WHERE project_id = ?1 ORDER BY name");
    db.all(sql, params![project], from_row)
}

pub fn get(db: &Db<'_>, project: &Project, name: &str) -> Result<SourceRow> {
    let sql = sql!("SELECT ", source_columns!(), " FROM source WHERE project_id = ?1 AND name = ?2");
    if let Some(found) = db.one(sql, params![project.id, name], from_row)? {
        return Ok(found);
    }
    let names =
        db.all(sql!("SELECT name FROM source WHERE project_id = ?1"), params![project.id], |row| row.get::<String>(0))?;
    let error = Error::new(Code::NotFound, format!("Project '{}' has no source '{name}'", project.name));
    Err(error.suggest(name, names.iter().map(String::as_str), "`mcpkg source list` shows the existing sources"))
}

/// Removes a source. Its items stay in the project.
pub fn delete(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM source_item WHERE source_id = ?1"), params![id])?;
    db.run(sql!("DELETE FROM source WHERE id = ?1"), params![id]).map(drop)
}

/// Returns the items that were made from the files of a source, ordered by path.
pub fn items(db: &Db<'_>, id: i64) -> Result<Vec<ItemRow>> {
    let sql = sql!(
        "SELECT path, item, entry, blob_id, sha256, executable, shared, proposal_id FROM source_item
          WHERE source_id = ?1 ORDER BY path"
    );
    db.all(sql, params![id], item_from_row)
}

/// Returns the item that was made from a file of a source, if any.
pub fn item(db: &Db<'_>, id: i64, path: &str) -> Result<Option<ItemRow>> {
    let sql = sql!(
        "SELECT path, item, entry, blob_id, sha256, executable, shared, proposal_id FROM source_item
          WHERE source_id = ?1 AND path = ?2"
    );
    db.one(sql, params![id, path], item_from_row)
}

/// Calls `each` with the path, mode and SHA-256 of each of a source's files, ordered by path.
///
/// # Errors
/// Errors of `each`.
pub fn each_file(db: &Db<'_>, id: i64, mut each: impl FnMut(&str, bool, &[u8; 32]) -> Result<()>) -> Result<()> {
    let sql = sql!("SELECT path, executable, sha256 FROM source_item WHERE source_id = ?1 ORDER BY path");
    db.each(sql, params![id], |row| each(row.get(0)?, row.get(1)?, &row.get(2)?))
}

/// Whether a source has files that became the same item, or that were reached through links.
pub fn has_shared(db: &Db<'_>, id: i64) -> Result<bool> {
    let sql = sql!("SELECT 1 FROM source_item WHERE source_id = ?1 AND shared = 1 LIMIT 1");
    Ok(db.one(sql, params![id], |_| Ok(()))?.is_some())
}

pub fn count(db: &Db<'_>, id: i64) -> Result<i64> {
    db.single(sql!("SELECT count(*) FROM source_item WHERE source_id = ?1"), params![id], |row| row.get(0))
}

/// Returns the name of a source that an item came from. Ignores the source with key `but`.
pub fn of_item(db: &Db<'_>, project: i64, item: &str, but: i64) -> Result<Option<String>> {
    let sql = sql!(
        "SELECT s.name FROM source_item i JOIN source s ON s.id = i.source_id
          WHERE i.item = ?2 AND s.project_id = ?1 AND s.id <> ?3 ORDER BY s.name LIMIT 1"
    );
    db.one(sql, params![project, item, but], |row| row.get(0))
}

/// Stores the item that was made from a file, replacing the previous one.
pub fn put_item(db: &Db<'_>, id: i64, row: &ItemRow) -> Result<()> {
    let ItemRow { path, item, entry, blob, sha256, executable, shared, proposal } = row;
    let sql = sql!(
        "INSERT INTO source_item (source_id, path, item, entry, blob_id, sha256, executable, shared, proposal_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (source_id, path) DO UPDATE SET item = excluded.item, entry = excluded.entry,
                                                     blob_id = excluded.blob_id, sha256 = excluded.sha256,
                                                     executable = excluded.executable, shared = excluded.shared,
                                                     proposal_id = excluded.proposal_id"
    );
    db.run(sql, params![id, path, item, entry, blob, sha256, executable, shared, proposal]).map(drop)
}

/// Removes the record of the item that was made from a file.
pub fn delete_item(db: &Db<'_>, id: i64, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM source_item WHERE source_id = ?1 AND path = ?2"), params![id, path]).map(drop)
}

fn item_from_row(row: &Row<'_>) -> Result<ItemRow> {
    Ok(ItemRow {
        path: row.get(0)?,
        item: row.get(1)?,
        entry: row.get(2)?,
        blob: row.get(3)?,
        sha256: row.get(4)?,
        executable: row.get(5)?,
        shared: row.get(6)?,
        proposal: row.get(7)?,
    })
}

fn from_row(row: &Row<'_>) -> Result<SourceRow> {
    let kind = match row.get(2)? {
        "git" => Kind::Git,
        "folder" => Kind::Folder,
        _ => return Err(damaged_value("a source has an unknown kind")),
    };
    let malformed = |error| damaged_value("the attributes of a source are malformed").with_source(error);
    let choice = serde_json::from_str(row.get(6)?).map_err(malformed)?;
    let plugins: Option<&str> = row.get(9)?;
    let plugins = plugins.map(serde_json::from_str).transpose().map_err(malformed)?;
    let origin = Origin {
        name: row.get(1)?,
        kind,
        url: row.get(3)?,
        reference: row.get(4)?,
        path: row.get(5)?,
        choice,
        commit: row.get(7)?,
        digest: row.get(8)?,
    };
    Ok(SourceRow { id: row.get(0)?, origin, plugins, added_at: row.get(10)?, updated_at: row.get(11)? })
}
