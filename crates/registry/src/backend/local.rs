//! The database itself as a registry.

use semver::Version;
use serde_json::Value;

use super::facts::Facts;
use super::latest::counting;
use super::query::{Query, SearchResult};
use super::registry::Registry;
use super::tool::{Listed, Publication, ToolInfo, VersionInfo};
use super::unknown::{no_tool, no_version};
use crate::package::Name;
use mcpkg_base::error::Result;
use mcpkg_base::sha256::Sha;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::blobs::{self, damaged_value};
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::listings::{self, Listing};
use mcpkg_store::tools::packages::{self, Manifest, PackageRow, Release, Visibility, Yank};
use mcpkg_store::tools::registries::LOCAL;

pub struct Local<'c> {
    context: &'c Context,
}

impl<'c> Local<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self { context }
    }

    /// Returns the versions of a tool that the caller may see, highest first.
    pub fn rows(&self, db: &Db<'_>, name: &Name) -> Result<Vec<(Version, PackageRow)>> {
        let mut rows = all_rows(db, name)?;
        rows.retain(|(_, row)| self.shows(row));
        rows.sort_by(|(a, _), (b, _)| b.cmp(a));
        Ok(rows)
    }

    /// Returns whether the caller may see a version.
    fn shows(&self, row: &PackageRow) -> bool {
        row.release.visibility != Visibility::Private || self.context.caller.sees_private(&row.release.name)
    }

    /// Returns a version that the caller may see.
    pub fn row(&self, db: &Db<'_>, name: &Name, version: &Version) -> Result<PackageRow> {
        match packages::get(db, LOCAL, name.as_str(), &version.to_string())?.filter(|row| self.shows(row)) {
            Some(row) => Ok(row),
            None => {
                let versions: Vec<Version> = self.rows(db, name)?.into_iter().map(|(version, _)| version).collect();
                match versions.is_empty() {
                    true => Err(no_tool(LOCAL, name)),
                    false => Err(no_version(LOCAL, name, &version.to_string(), &versions)),
                }
            }
        }
    }

    /// Sets the visibility of all versions of a tool that the caller may see, and returns their number.
    pub fn show_to(&self, name: &Name, visibility: Visibility) -> Result<usize> {
        let author = self.context.author();
        self.context.store.write(|db| {
            let rows = self.rows(db, name)?;
            if rows.is_empty() {
                return Err(no_tool(LOCAL, name));
            }
            rows.iter().try_for_each(|(_, row)| packages::set_visibility(db, row.id, visibility))?;
            list(db, name)?;
            self.context.event(db, author, None, "tool.visibility", name.as_str())?;
            Ok(rows.len())
        })
    }
}

/// Returns all versions of a tool, unsorted.
fn all_rows(db: &Db<'_>, name: &Name) -> Result<Vec<(Version, PackageRow)>> {
    let rows = packages::versions(db, LOCAL, name.as_str())?;
    rows.into_iter().map(|row| Ok((version_of(&row)?, row))).collect()
}

/// Updates the search entry of a tool from its versions.
fn list(db: &Db<'_>, name: &Name) -> Result<()> {
    let shown = |row: &PackageRow| row.release.visibility == Visibility::Public && row.release.yank.is_none();
    let rows = all_rows(db, name)?.into_iter().filter(|(_, row)| shown(row));
    let Some((version, row)) = counting(rows, |(version, _)| version) else {
        return listings::remove(db, LOCAL, name.as_str());
    };
    let Facts { description, tags, .. } = Facts::of(&manifest(db, &row)?);
    let published_at = row.release.published_at;
    let listing = Listing { name: name.to_string(), version: version.to_string(), description, tags, published_at };
    listings::put(db, LOCAL, &listing)
}

/// Returns the version that represents a tool: the highest that is not yanked, with pre-releases last. If all versions
/// are yanked, returns the first of `rows`.
pub fn leading(rows: &[(Version, PackageRow)]) -> Option<&(Version, PackageRow)> {
    let sound = rows.iter().filter(|(_, row)| row.release.yank.is_none());
    counting(sound, |(version, _)| version).or(rows.first())
}

impl Registry for Local<'_> {
    fn search(&self, query: &Query) -> Result<SearchResult> {
        let now = self.context.clock.now();
        self.context.store.read(|db| query.in_database(db, LOCAL)).map(|(hits, total)| SearchResult {
            hits,
            total,
            checked_at: now,
            stale: false,
        })
    }

    fn info(&self, name: &Name) -> Result<ToolInfo> {
        self.context.store.read(|db| {
            let rows = self.rows(db, name)?;
            let Some((_, row)) = leading(&rows) else {
                return Err(no_tool(LOCAL, name));
            };
            let Facts { description, tags, license } = Facts::of(&manifest(db, row)?);
            let listed = |(version, row): (Version, PackageRow)| Listed {
                version,
                sha256: Some(row.release.sha256),
                published_at: row.release.published_at,
                yank: row.release.yank,
            };
            let versions = rows.into_iter().map(listed).collect();
            Ok(ToolInfo { name: name.clone(), description, tags, license, versions })
        })
    }

    fn version(&self, name: &Name, version: &Version) -> Result<VersionInfo> {
        let release = self.context.store.read(|db| self.row(db, name, version))?.release;
        let Release { sha256, size, publisher, visibility, published_at, yank, .. } = release;
        let (name, version) = (name.clone(), version.clone());
        Ok(VersionInfo { name, version, sha256, size, publisher, visibility, published_at, yank })
    }

    fn archive(&self, version: &VersionInfo) -> Result<NewContent> {
        self.context.store.read(|db| {
            let row = self.row(db, &version.name, &version.version)?;
            let archive = packages::archive(db, &row)?;
            archive.ok_or_else(|| damaged_value("a package published in this database has no archive"))
        })
    }

    fn attestations(&self, version: &VersionInfo) -> Result<Vec<String>> {
        self.context.store.read(|db| bundles(db, &version.sha256))
    }

    fn publish(&self, publication: &Publication<'_>) -> Result<bool> {
        let Publication { name, version, archive, sha256, manifest, raw_manifest, visibility, attestations: claims } =
            *publication;
        let author = self.context.author();
        let manifest = manifest.to_string();
        self.context.store.write(|db| {
            let there = packages::get(db, LOCAL, name.as_str(), &version.to_string())?;
            let is_new = there.is_none_or(|row| row.release.sha256 != *sha256);
            if is_new {
                let release = Release {
                    registry: LOCAL.to_owned(),
                    name: name.to_string(),
                    version: version.to_string(),
                    sha256: *sha256,
                    size: archive.size(),
                    publisher: Some(self.context.caller.key().unwrap_or(author.actor).to_owned()),
                    visibility,
                    published_at: author.now,
                    yank: None,
                };
                let blob = blobs::put_source(db, archive)?;
                let manifest = Manifest { json: &manifest, raw: raw_manifest };
                packages::insert(db, &release, blob, manifest, author.now)?;
                list(db, name)?;
                self.context.event(db, author, None, "tool.publish", &format!("{name}@{version}"))?;
            }
            for bundle in claims {
                attestations::insert(db, sha256, bundle, self.context.caller.key(), author.now)?;
            }
            Ok(is_new)
        })
    }

    fn yank(&self, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()> {
        let author = self.context.author();
        let kind = if yank.is_some() { "tool.yank" } else { "tool.unyank" };
        self.context.store.write(|db| {
            let row = self.row(db, name, version)?;
            packages::set_yank(db, row.id, yank)?;
            list(db, name)?;
            self.context.event(db, author, None, kind, &format!("{name}@{version}"))
        })
    }

    fn attest(&self, version: &VersionInfo, bundle: &str) -> Result<()> {
        let now = self.context.clock.now();
        self.context.store.write(|db| {
            self.row(db, &version.name, &version.version)?;
            attestations::insert(db, &version.sha256, bundle, self.context.caller.key(), now).map(drop)
        })
    }
}

fn version_of(row: &PackageRow) -> Result<Version> {
    let parsed = Version::parse(&row.release.version);
    parsed.map_err(|error| damaged_value("a package has an invalid version").with_source(error))
}

/// Returns the manifest of a version as JSON.
pub fn manifest(db: &Db<'_>, row: &PackageRow) -> Result<Value> {
    let text = packages::manifest(db, row.id)?.unwrap_or_default();
    serde_json::from_str(&text).map_err(|error| damaged_value("a manifest is malformed").with_source(error))
}

/// Returns the stored attestations of an archive.
pub fn bundles(db: &Db<'_>, sha256: &Sha) -> Result<Vec<String>> {
    Ok(attestations::of(db, sha256)?.into_iter().map(|row| row.bundle).collect())
}
