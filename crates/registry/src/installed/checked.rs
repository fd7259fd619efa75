//! Reads manifests from stored archives, after verifying each archive's digest.

use std::sync::Arc;

use crate::backend::Resolved;
use crate::package::archive;
use crate::package::manifest::Manifest;
use crate::trust::Subject;
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256::Sha;
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::installs::Install;
use mcpkg_store::tools::{names, packages};

/// Manifests by the SHA-256 of their archive. An unusable manifest is cached as well, so that lists do not parse it
/// again and again.
static READ: Cache<Sha, Read> = Cache::new(2_048);

/// A manifest, or the reason why it cannot be used.
type Read = Result<Arc<Manifest>, String>;

/// Returns the manifest of an installed tool.
///
/// # Errors
/// `E_ARCHIVE_INVALID` if the manifest cannot be used; `E_DAMAGED` if the archive is missing from the database.
pub fn manifest(db: &Db<'_>, install: &Install) -> Result<Arc<Manifest>> {
    manifest_of(db, &subject(install))
}

/// Returns the manifest in a stored archive.
pub fn manifest_of(db: &Db<'_>, subject: &Subject) -> Result<Arc<Manifest>> {
    of_archive(&subject.sha256, || {
        let row = packages::with_digest(db, &subject.sha256)?;
        let bytes = row.map(|row| packages::archive(db, &row)).transpose()?.flatten();
        bytes.ok_or_else(|| {
            let what = format!("The archive of {} is missing from the database", subject.reference());
            Error::new(Code::Damaged, what)
                .hint(format!("`mcpkg tool install {}` fetches the archive again", subject.name))
        })
    })
}

/// Returns the manifest in the archive with this SHA-256. `archive` loads the archive if the manifest is not
/// cached.
///
/// # Errors
/// `E_ARCHIVE_INVALID` if the manifest cannot be used.
pub fn of_archive(sha256: &[u8; 32], archive: impl FnOnce() -> Result<NewContent>) -> Result<Arc<Manifest>> {
    let found = match READ.get(sha256) {
        Some(found) => found,
        None => {
            let opened = archive::open(archive()?);
            let read = opened.map(|opened| Arc::new(opened.manifest)).map_err(|error| error.message().to_owned());
            READ.put(*sha256, read.clone());
            read
        }
    };
    found.map_err(|why| Error::new(Code::ArchiveInvalid, why))
}

/// Returns an install as the subject of a verdict: name, version and SHA-256.
pub fn subject(install: &Install) -> Subject {
    Subject { name: install.name.clone(), version: install.version.clone(), sha256: install.sha256 }
}

/// Returns the subject of an archive from a registry. Fails unless the archive has the requested name and version.
pub fn subject_of(resolved: &Resolved, manifest: &Manifest, sha256: [u8; 32]) -> Result<Subject> {
    let (name, version) = (&resolved.version.name, &resolved.version.version);
    if manifest.name != *name || manifest.version.as_ref() != Some(version) {
        let what = format!("The archive of {name}@{version} contains a different tool or version: '{}'", manifest.name);
        let hint = "mcpkg discarded the archive; report this to the registry's maintainers";
        return Err(Error::new(Code::ArchiveInvalid, what).hint(hint));
    }
    Ok(Subject { name: name.to_string(), version: version.to_string(), sha256 })
}

/// Returns the actions that become MCP tools. `None` stands for the main action, for the only action of a package, or
/// for a document.
pub fn projected_actions(manifest: &Manifest) -> Vec<Option<&str>> {
    manifest.projected().into_iter().map(|(name, _)| name).collect()
}

/// Returns the MCP names of a tool's actions; actions without an MCP name are skipped.
pub fn mcp_names(db: &Db<'_>, tool: &str, actions: &[Option<&str>]) -> Result<Vec<String>> {
    let names = actions.iter().map(|action| names::of(db, tool, action.unwrap_or_default()));
    Ok(names.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
