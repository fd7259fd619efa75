//! A registry in a folder, for example on a USB stick, on a shared disk, or in a repository.
//!
//! ```text
//! registry.json  index.json
//! tools/alice/utils/weather/1.2.0/{package.json, manifest.json, bundle.tar.gz, attestations/SHA256.json}
//! ```

mod index;
mod publish;
mod record;
mod root;
mod versions;

use std::path::Path;

use semver::Version;

use self::root::{JSON, Root};
use super::facts::Facts;
use super::latest::counting;
use super::query::{Query, SearchResult};
use super::registry::Registry;
use super::registry::{MAX_ARCHIVE, MAX_ATTESTATION, MAX_ATTESTATIONS};
use super::tool::{Listed, Publication, ToolInfo, VersionInfo};
use super::unknown::{no_tool, no_version};
use crate::package::Name;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::answers::{self, Answer};
use mcpkg_store::tools::listings::{self, Listing};
use mcpkg_store::tools::packages::Yank;

pub struct Directory<'c> {
    name: String,
    root: Root,
    context: &'c Context,
}

impl<'c> Directory<'c> {
    /// Returns the registry called `name` in the folder `path`, which must be a canonical path.
    pub fn new(context: &'c Context, name: &str, path: &Path) -> Self {
        Self { name: name.to_owned(), root: Root::new(name, path), context }
    }

    /// Creates an empty registry in a folder that is empty or does not exist.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` if the folder is not empty.
    pub fn create(name: &str, path: &Path) -> Result<()> {
        publish::create(name, path)
    }

    /// Fails if the folder does not exist or is not a registry.
    pub fn check(&self) -> Result<()> {
        self.root.check()
    }

    /// Rebuilds the index from the files, and returns how many tools it lists.
    pub fn index(&self) -> Result<usize> {
        self.root.check()?;
        publish::index(&self.root, self.context)
    }

    /// Copies the index to the database, where searches read it, if the index changed. Returns true if the copy is
    /// outdated but the caller may not write to the database.
    fn refresh(&self) -> Result<bool> {
        let validator = self.root.validator(index::INDEX)?;
        let kept = self.context.store.read(|db| answers::get(db, &self.name, index::INDEX))?;
        if kept.as_ref().is_some_and(|kept| kept.etag == validator) {
            return Ok(false);
        }
        let Some(listings) = index::read(&self.root)? else {
            let why = self.root.malformed(format!("it has no {}", index::INDEX));
            return Err(why.hint(format!("`mcpkg registry index {}` creates the index", self.name)));
        };
        if !self.context.store.may_write() {
            return Ok(true);
        }
        let listings: Vec<Listing> = listings.into_values().collect();
        let answer = Answer { etag: validator, body: String::new(), fetched_at: self.context.clock.now() };
        self.context.store.write(|db| {
            listings::replace(db, &self.name, &listings)?;
            answers::put(db, &self.name, index::INDEX, &answer)
        })?;
        Ok(false)
    }

    fn versions(&self, name: &Name) -> Result<Vec<(Version, record::Record)>> {
        let versions = versions::all(&self.root, name)?;
        if versions.is_empty() { Err(no_tool(&self.name, name)) } else { Ok(versions) }
    }
}

impl Registry for Directory<'_> {
    fn search(&self, query: &Query) -> Result<SearchResult> {
        self.root.check()?;
        let stale = self.refresh()?;
        let (hits, total) = self.context.store.read(|db| query.in_database(db, &self.name))?;
        Ok(SearchResult { hits, total, checked_at: self.context.clock.now(), stale })
    }

    fn info(&self, name: &Name) -> Result<ToolInfo> {
        self.root.check()?;
        let mut versions = self.versions(name)?;
        versions.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        let sound = versions.iter().filter(|(_, record)| record.yank.is_none());
        let shown = counting(sound, |(version, _)| version).or(versions.first());
        let manifest = match shown {
            Some((version, _)) => self.root.read(&versions::file(name, version, versions::MANIFEST), JSON)?,
            None => None,
        };
        let manifest = serde_json::from_slice(&manifest.unwrap_or_default()).unwrap_or_default();
        let Facts { description, tags, license } = Facts::of(&manifest);
        let listed = |(version, record): (Version, record::Record)| Listed {
            version,
            sha256: Some(record.sha256),
            published_at: record.published_at,
            yank: record.yank,
        };
        let versions = versions.into_iter().map(listed).collect();
        Ok(ToolInfo { name: name.clone(), description, tags, license, versions })
    }

    fn version(&self, name: &Name, version: &Version) -> Result<VersionInfo> {
        self.root.check()?;
        if let Some(record) = versions::one(&self.root, name, version)? {
            return Ok(record.info(name, version.clone()));
        }
        let versions: Vec<Version> = self.versions(name)?.into_iter().map(|(version, _)| version).collect();
        Err(no_version(&self.name, name, &version.to_string(), &versions))
    }

    fn archive(&self, version: &VersionInfo) -> Result<NewContent> {
        let path = versions::file(&version.name, &version.version, versions::BUNDLE);
        let archive = self.root.content(&path, MAX_ARCHIVE)?;
        archive.ok_or_else(|| self.root.malformed(format!("`{path}` is missing")))
    }

    fn attestations(&self, version: &VersionInfo) -> Result<Vec<String>> {
        let folder = versions::file(&version.name, &version.version, versions::ATTESTATIONS);
        let mut bundles = Vec::new();
        for name in self.root.names(&folder)?.iter().take(MAX_ATTESTATIONS) {
            let Some(sha256) = name.strip_suffix(".json").filter(|hex| hex.len() == 64) else { continue };
            match self.root.read(&format!("{folder}/{name}"), MAX_ATTESTATION) {
                Ok(Some(bytes)) if sha256::hex(&bytes) == sha256 => {
                    bundles.extend(String::from_utf8(bytes).ok());
                }
                Ok(_) => tracing::warn!(
                    folder,
                    name,
                    "skipped an attestation that does not match the digest in its file name"
                ),
                Err(error) => tracing::warn!(folder, name, %error, "skipped an attestation that cannot be read"),
            }
        }
        Ok(bundles)
    }

    fn publish(&self, publication: &Publication<'_>) -> Result<bool> {
        self.root.check()?;
        publish::publish(&self.root, self.context, publication)
    }

    fn yank(&self, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()> {
        // For an unknown version, this fails with an error that lists the existing versions.
        self.version(name, version)?;
        publish::yank(&self.root, self.context, name, version, yank)
    }

    fn attest(&self, version: &VersionInfo, bundle: &str) -> Result<()> {
        if bundle.len() as u64 > MAX_ATTESTATION {
            let why = format!("The attestation is larger than {MAX_ATTESTATION} bytes, the limit for registries");
            return Err(Error::new(Code::TooLarge, why));
        }
        self.version(&version.name, &version.version)?;
        publish::attest(&self.root, self.context, version, bundle)
    }
}
