//! The types for tools and versions in a registry.

use semver::Version;

use crate::package::Name;
use crate::package::archive::Opened;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::sha256::Sha;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::packages::{Visibility, Yank};

#[derive(Clone, Debug)]
pub struct ToolInfo {
    pub name: Name,
    /// The description, as one line of untrusted text.
    pub description: String,
    pub tags: Vec<String>,
    pub license: Option<String>,
    /// The versions, highest first.
    pub versions: Vec<Listed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub version: Version,
    /// The SHA-256 of the archive, if the list includes it.
    pub sha256: Option<Sha>,
    pub published_at: Millis,
    pub yank: Option<Yank>,
}

#[derive(Clone, Debug)]
pub struct VersionInfo {
    pub name: Name,
    pub version: Version,
    pub sha256: Sha,
    /// The size of the archive in bytes; 0 if the registry does not say.
    pub size: u64,
    /// The publisher, as claimed by the registry.
    pub publisher: Option<String>,
    pub visibility: Visibility,
    pub published_at: Millis,
    pub yank: Option<Yank>,
}

#[derive(Clone, Copy, Debug)]
pub struct Publication<'p> {
    pub name: &'p Name,
    pub version: &'p Version,
    pub archive: &'p NewContent,
    pub sha256: &'p Sha,
    pub manifest: &'p serde_json::Value,
    /// The text of the manifest file in the archive.
    pub raw_manifest: &'p str,
    pub visibility: Visibility,
    /// The attestations to add, each a bundle as JSON.
    pub attestations: &'p [String],
}

impl<'p> Publication<'p> {
    /// Creates a publication that is public and has no attestations; `manifest` is the archive's manifest as JSON.
    ///
    /// # Errors
    /// `E_INTERNAL` if the archive has no version, although opening an archive checks this.
    pub fn of(opened: &'p Opened, manifest: &'p serde_json::Value) -> Result<Self> {
        let version = opened.manifest.version.as_ref().ok_or_else(|| Error::internal("an archive has no version"))?;
        Ok(Self {
            name: &opened.manifest.name,
            version,
            archive: &opened.content,
            sha256: &opened.sha256,
            manifest,
            raw_manifest: &opened.raw_manifest,
            visibility: Visibility::default(),
            attestations: &[],
        })
    }
}
