//! The interface of all registries.

use semver::Version;

use super::query::{Found, Query};
use super::tool::{Publication, ToolInfo, VersionInfo};
use crate::package::Name;
use mcpkg_base::error::Result;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::tools::packages::Yank;

/// A registry: this database, a folder, or another host.
///
/// Nothing that it answers is trusted: digests are compared with those seen before, archives with their digest, and
/// attestations are verified where they are judged. Every method fails with `E_REGISTRY_UNREACHABLE`,
/// `E_REGISTRY_REFUSED` or
/// `E_REGISTRY_ANSWER` where another host is asked, with `E_FILE_FAILED` or `E_IO_PERMISSION_DENIED` where a folder is,
/// and with
/// `E_CANCELLED` where the caller gave up.
pub trait Registry: Send {
    fn search(&self, query: &Query) -> Result<Found>;

    fn info(&self, name: &Name) -> Result<ToolInfo>;

    /// Returns a version, yanked or not.
    fn version(&self, name: &Name, version: &Version) -> Result<VersionInfo>;

    /// Returns a version's archive, verified by its digest.
    fn archive(&self, version: &VersionInfo) -> Result<NewContent>;

    /// Returns the attestations of a version, each a bundle as JSON: unverified claims.
    fn attestations(&self, version: &VersionInfo) -> Result<Vec<String>>;

    /// Publishes a version; returns whether it was not there before.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` where the version is there with another digest, `E_NAMESPACE_MISMATCH`.
    fn publish(&self, publication: &Publication<'_>) -> Result<bool>;

    /// Yanks a version with a reason; `None` takes that back.
    fn yank(&self, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()>;

    /// Adds an attestation to a version; adding one again is not an error.
    fn attest(&self, version: &VersionInfo, bundle: &str) -> Result<()>;
}
