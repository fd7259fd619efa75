//! Versions of tools: published in this database, stored from another registry, or only reported by another registry.
//!
//! Nothing that a registry reported about a version is ever forgotten. The digest of a version cannot change. A yanked
//! version stays yanked until somebody reverts the yank in this database.

use serde::Serialize;

use super::registries::PATH;
use super::trust;
use crate::blobs::NewContent;
use crate::blobs::{self, damaged_value};
use crate::engine::{Row, Unique, params, sql};
use crate::{Db, page::Page};
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;

const VERSION: Unique = Unique::new("tool_package", &["registry", "name", "version"]);

/// Determines who can see a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Everyone can see the version, and searches find it.
    #[default]
    Public,
    /// Everyone who knows the tool's name can see the version; searches do not find it.
    Unlisted,
    /// Only those who may publish in the tool's namespace can see the version.
    Private,
}

impl Visibility {
    /// Returns the visibility's name, as it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Unlisted => "unlisted",
            Visibility::Private => "private",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Public, Self::Unlisted, Self::Private].into_iter().find(|visibility| visibility.word() == word)
    }
}

/// When and why a version was yanked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Yank {
    #[serde(serialize_with = "clock::as_rfc3339")]
    pub at: Millis,
    /// The publisher's reason for the yank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version to use instead of the yanked version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
}

/// The facts about a version that a registry reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub registry: String,
    pub name: String,
    /// The version in semver's format.
    pub version: String,
    pub sha256: [u8; 32],
    /// The size of the archive in bytes; 0 if the registry does not say.
    pub size: u64,
    /// The publisher, according to the registry.
    pub publisher: Option<String>,
    pub visibility: Visibility,
    pub published_at: Millis,
    pub yank: Option<Yank>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageRow {
    pub id: i64,
    pub release: Release,
    /// The key of the archive, if it is stored.
    pub blob: Option<i64>,
    /// When the registry last reported the version.
    pub seen_at: Millis,
    /// How often the archive was downloaded from this server's registry.
    pub downloads: u64,
}

/// The manifest of a stored archive.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'m> {
    /// The manifest as JSON.
    pub json: &'m str,
    /// The manifest's original text.
    pub raw: &'m str,
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! packages {
    () => {
        "SELECT id, registry, name, version, sha256, size, publisher, visibility, published_at, yanked_at, yank_reason,
                yank_replacement, blob_id, seen_at, downloads FROM tool_package"
    };
}
/// Adds a version with its archive; `blob` is the archive's key.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the version exists.
pub fn insert(db: &Db<'_>, release: &Release, blob: i64, manifest: Manifest<'_>, now: Millis) -> Result<i64> {
    let Release { registry, name, version, sha256, size, publisher, visibility, published_at, .. } = release;
    let size = i64::try_from(*size).unwrap_or(i64::MAX);
    let sql = sql!(
        "INSERT INTO tool_package (registry, name, version, sha256, size, blob_id, manifest, raw_manifest, publisher,
                                   visibility, published_at, seen_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) RETURNING id"
    );
    let visibility = visibility.word();
    let params = params![
        registry,
        name,
        version,
        sha256,
        size,
        blob,
        manifest.json,
        manifest.raw,
        publisher,
        visibility,
        published_at,
        now
    ];
    db.insert(sql, params).map_err(|error| match VERSION.is_violated_by(&error) {
        true => Error::new(Code::AlreadyExists, format!("Registry '{registry}' already has {name}@{version}"))
            .hint("published versions never change; raise the version"),
        false => error,
    })
}

/// Stores what a registry reports about a version, and returns the row. If the version is already known, stores only
/// the time and a new yank.
///
/// # Errors
/// `E_DIGEST_CHANGED` if the version was seen with another digest before.
pub fn see(db: &Db<'_>, release: &Release, now: Millis) -> Result<PackageRow> {
    let Release { registry, name, version, sha256, size, publisher, visibility, published_at, yank } = release;
    let size = i64::try_from(*size).unwrap_or(i64::MAX);
    let sql = sql!(
        "INSERT INTO tool_package (registry, name, version, sha256, size, publisher, visibility, published_at, seen_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (registry, name, version) DO UPDATE SET seen_at = excluded.seen_at"
    );
    let visibility = visibility.word();
    db.run(sql, params![registry, name, version, sha256, size, publisher, visibility, published_at, now])?;
    let mut row = require(db, registry, name, version)?;
    check_digest(&row, release)?;
    if let (None, Some(yank)) = (&row.release.yank, yank) {
        set_yank(db, row.id, Some(yank))?;
        row.release.yank = Some(yank.clone());
    }
    Ok(row)
}

/// Fails if a registry reports another digest for a version than before.
pub fn check_digest(seen: &PackageRow, release: &Release) -> Result<()> {
    if seen.release.sha256 == release.sha256 {
        return Ok(());
    }
    let Release { registry, name, version, sha256, .. } = release;
    let (expected, actual) = (hex::encode(&seen.release.sha256), hex::encode(sha256));
    let details = serde_json::json!({ "registry": registry, "expected": expected, "actual": actual });
    let (why, hint) = match registry.as_str() {
        PATH => (
            format!("{name}@{version} was previously installed from different files"),
            "an installed version never changes: raise the version, or run the current files with `mcpkg tool run \
                ./FOLDER`",
        ),
        registry => (
            format!("Registry '{registry}' has replaced the archive of {name}@{version}"),
            "published versions never change: before you use either archive, ask the publisher what happened",
        ),
    };
    Err(Error::new(Code::DigestChanged, why).with_details(details).hint(hint))
}

pub fn get(db: &Db<'_>, registry: &str, name: &str, version: &str) -> Result<Option<PackageRow>> {
    let sql = sql!(packages!(), " WHERE registry = ?1 AND name = ?2 AND version = ?3");
    db.one(sql, params![registry, name, version], from_row)
}

fn require(db: &Db<'_>, registry: &str, name: &str, version: &str) -> Result<PackageRow> {
    get(db, registry, name, version)?.ok_or_else(|| damaged_value("a package that was just written is missing"))
}

pub fn by_id(db: &Db<'_>, id: i64) -> Result<Option<PackageRow>> {
    db.one(sql!(packages!(), " WHERE id = ?1"), params![id], from_row)
}

/// Returns the versions of a tool that a registry has or once had, in no particular order.
pub fn versions(db: &Db<'_>, registry: &str, name: &str) -> Result<Vec<PackageRow>> {
    db.all(sql!(packages!(), " WHERE registry = ?1 AND name = ?2"), params![registry, name], from_row)
}

/// Returns a package from any registry with this digest and a stored archive.
pub fn with_digest(db: &Db<'_>, sha256: &[u8; 32]) -> Result<Option<PackageRow>> {
    let sql = sql!(packages!(), " WHERE sha256 = ?1 AND blob_id IS NOT NULL ORDER BY id LIMIT 1");
    db.one(sql, params![sha256], from_row)
}

/// Returns the packages with a stored archive, ordered by name and version.
pub fn all_kept(db: &Db<'_>) -> Result<Vec<PackageRow>> {
    db.all(sql!(packages!(), " WHERE blob_id IS NOT NULL ORDER BY name, version, registry"), params![], from_row)
}

/// Returns the names of a registry's tools that begin with `prefix`, in order.
pub fn names(db: &Db<'_>, registry: &str, prefix: &str, page: &Page) -> Result<Vec<String>> {
    let sql = sql!(
        "SELECT DISTINCT name FROM tool_package
          WHERE registry = ?1 AND name > ?2 AND substr(name, 1, length(?3)) = ?3 ORDER BY name LIMIT ?4"
    );
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    db.all(sql, params![registry, page.after, prefix, limit], |row| row.get(0))
}

/// Stores the archive and the manifest of a package that was only reported so far.
pub fn keep(db: &Db<'_>, id: i64, blob: i64, size: u64, manifest: Manifest<'_>) -> Result<()> {
    let sql = sql!("UPDATE tool_package SET blob_id = ?2, size = ?3, manifest = ?4, raw_manifest = ?5 WHERE id = ?1");
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    db.run(sql, params![id, blob, size, manifest.json, manifest.raw]).map(drop)
}

/// Deletes the archive of a package, but keeps the record of what its registry reported.
pub fn let_go(db: &Db<'_>, row: &PackageRow) -> Result<()> {
    let sql = sql!("UPDATE tool_package SET blob_id = NULL, manifest = NULL, raw_manifest = NULL WHERE id = ?1");
    db.run(sql, params![row.id])?;
    row.blob.map_or(Ok(()), |blob| blobs::take_back(db, blob))
}

/// Returns the archive of a package, verified by its SHA-256; `None` if it is not stored.
pub fn archive(db: &Db<'_>, row: &PackageRow) -> Result<Option<NewContent>> {
    row.blob.map(|blob| blobs::content(db, blob)).transpose()
}

/// Returns the manifest of a package as JSON; `None` if its archive is not stored.
pub fn manifest(db: &Db<'_>, id: i64) -> Result<Option<String>> {
    let sql = sql!("SELECT manifest FROM tool_package WHERE id = ?1");
    Ok(db.one(sql, params![id], |row| row.get::<Option<String>>(0))?.flatten())
}

/// Returns the original text of a package's manifest; `None` if its archive is not stored.
pub fn raw_manifest(db: &Db<'_>, id: i64) -> Result<Option<String>> {
    let sql = sql!("SELECT raw_manifest FROM tool_package WHERE id = ?1");
    Ok(db.one(sql, params![id], |row| row.get::<Option<String>>(0))?.flatten())
}

pub fn set_visibility(db: &Db<'_>, id: i64, visibility: Visibility) -> Result<()> {
    let sql = sql!("UPDATE tool_package SET visibility = ?2 WHERE id = ?1");
    db.run(sql, params![id, visibility.word()]).map(drop)
}

pub fn count_download(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("UPDATE tool_package SET downloads = downloads + 1 WHERE id = ?1"), params![id]).map(drop)
}

/// Returns how often archives of a tool were downloaded from this server's registry.
pub fn downloads(db: &Db<'_>, registry: &str, name: &str) -> Result<u64> {
    let sql =
        sql!("SELECT CAST(coalesce(sum(downloads), 0) AS BIGINT) FROM tool_package WHERE registry = ?1 AND name = ?2");
    db.single(sql, params![registry, name], |row| row.get(0))
}

/// Yanks a version, or reverts the yank if `yank` is `None`.
pub fn set_yank(db: &Db<'_>, id: i64, yank: Option<&Yank>) -> Result<()> {
    let sql = sql!("UPDATE tool_package SET yanked_at = ?2, yank_reason = ?3, yank_replacement = ?4 WHERE id = ?1");
    let (at, reason, replacement) =
        yank.map_or((None, None, None), |yank| (Some(yank.at), yank.reason.as_ref(), yank.replacement.as_ref()));
    db.run(sql, params![id, at, reason, replacement])?;
    // Trust decisions about this version may now be outdated.
    trust::raise_epoch(db)
}

fn from_row(row: &Row<'_>) -> Result<PackageRow> {
    let visibility = Visibility::from_word(row.get(7)?);
    let yank = match row.get::<Option<Millis>>(9)? {
        Some(at) => Some(Yank { at, reason: row.get(10)?, replacement: row.get(11)? }),
        None => None,
    };
    let release = Release {
        registry: row.get(1)?,
        name: row.get(2)?,
        version: row.get(3)?,
        sha256: row.get(4)?,
        size: row.get(5)?,
        publisher: row.get(6)?,
        visibility: visibility.ok_or_else(|| damaged_value("a package has an unknown visibility"))?,
        published_at: row.get(8)?,
        yank,
    };
    let (blob, seen_at, downloads) = (row.get(12)?, row.get(13)?, row.get(14)?);
    Ok(PackageRow { id: row.get(0)?, release, blob, seen_at, downloads })
}
