//! Tools and versions as registries describe them.

use semver::Version;

use crate::package::Name;
use crate::package::archive::Opened;
use mcpkg_base::clock::Millis;
use mcpkg_base::disk::Sha;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::new_content::NewContent;
use mcpkg_store::tools::packages::{Visibility, Yank};

/// A tool in a registry.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    pub name: Name,
    /// What it does, in one line of text from a stranger.
    pub description: String,
    pub tags: Vec<String>,
    pub license: Option<String>,
    /// Its versions, the highest first.
    pub versions: Vec<Listed>,
}

/// A version in a tool's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub version: Version,
    /// The SHA-256 of its archive, if the list has it.
    pub sha256: Option<Sha>,
    /// When it was published.
    pub published_at: Millis,
    /// Its yank, if its publisher yanked it.
    pub yank: Option<Yank>,
}

/// A version in a registry.
#[derive(Clone, Debug)]
pub struct VersionInfo {
    pub name: Name,
    pub version: Version,
    /// The SHA-256 of its archive.
    pub sha256: Sha,
    /// Bytes of its archive; 0 if the registry does not say.
    pub size: u64,
    /// Its publisher, according to the registry.
    pub publisher: Option<String>,
    pub visibility: Visibility,
    /// When it was published.
    pub published_at: Millis,
    /// Its yank, if its publisher yanked it.
    pub yank: Option<Yank>,
}

/// A version to publish.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'p> {
    pub name: &'p Name,
    pub version: &'p Version,
    pub archive: &'p NewContent,
    /// Its SHA-256.
    pub sha256: &'p Sha,
    /// The manifest as JSON.
    pub manifest: &'p serde_json::Value,
    /// The text of the manifest in the archive.
    pub raw_manifest: &'p str,
    /// Its visibility once published.
    pub visibility: Visibility,
    /// Its attestations, each a bundle as JSON.
    pub attestations: &'p [String],
}

impl<'p> Publication<'p> {
    /// Returns a version to publish to everybody, without attestations; `manifest` is the archive's, as JSON.
    ///
    /// # Errors
    /// `E_INTERNAL` for an archive without a version: none that is packed or sent is opened as one.
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
