//! The trait that all registries implement, and the limits on what is read from them.

use semver::Version;

use super::query::{Query, SearchResult};
use super::tool::{Publication, ToolInfo, VersionInfo};
use crate::package::Name;
use crate::package::archive::MAX_PACKED;
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::packages::Yank;

/// The maximum size of an archive in bytes.
pub const MAX_ARCHIVE: u64 = MAX_PACKED;

/// The maximum size of an attestation in bytes.
pub const MAX_ATTESTATION: u64 = 256 << 10;

/// The maximum number of attestations of a version.
pub const MAX_ATTESTATIONS: usize = 100;

/// A registry: this database, a folder, or another host.
///
/// Responses are not trusted. Digests are compared with those seen before, and archives with their digest. Attestations
/// are verified when mcpkg decides whether to trust a tool. Among other errors, a missing folder or an unreachable host
/// causes `E_REGISTRY_UNREACHABLE`, and invalid data `E_REGISTRY_ANSWER`.
pub trait Registry: Send {
    fn search(&self, query: &Query) -> Result<SearchResult>;

    fn info(&self, name: &Name) -> Result<ToolInfo>;

    /// Returns a version, even if it was yanked.
    fn version(&self, name: &Name, version: &Version) -> Result<VersionInfo>;

    /// Returns the archive of a version; the caller checks its digest.
    fn archive(&self, version: &VersionInfo) -> Result<NewContent>;

    /// Returns the attestations of a version as JSON bundles. They are not verified.
    fn attestations(&self, version: &VersionInfo) -> Result<Vec<String>>;

    /// Publishes a version, and returns whether it is new.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` if the version exists with another digest; `E_NAMESPACE_MISMATCH` if the host says that you
    /// may not publish under this name.
    fn publish(&self, publication: &Publication<'_>) -> Result<bool>;

    /// Yanks a version with a reason; `None` reverts the yank.
    fn yank(&self, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()>;

    /// Adds an attestation to a version; adding the same one again is not an error.
    fn attest(&self, version: &VersionInfo, bundle: &str) -> Result<()>;
}
