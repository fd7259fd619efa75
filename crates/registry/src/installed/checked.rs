//! Manifests of packages whose archive was compared with its digest.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::backend::Resolved;
use crate::package::archive;
use crate::package::manifest::Manifest;
use crate::trust::Subject;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::tools::installs::Install;
use mcpkg_store::tools::packages;

/// The most manifests that are cached.
const MAX_READ: usize = 2_048;

/// Manifests by the SHA-256 of their archive, so that an entry never becomes wrong. An unusable manifest is cached too, so that it is
/// not read again for every list.
static READ: LazyLock<Mutex<HashMap<[u8; 32], Read>>> = LazyLock::new(Mutex::default);

/// A manifest, or why it cannot be used.
type Read = Result<Arc<Manifest>, String>;

/// Returns the manifest in the archive of an install, which is verified by its SHA-256.
///
/// # Errors
/// `E_ARCHIVE_INVALID` where it cannot be used.
pub fn manifest(db: &Db<'_>, install: &Install) -> Result<Arc<Manifest>> {
    manifest_of(db, &subject(install))
}

/// Returns the manifest in an archive that is kept, which is verified by its SHA-256.
pub fn manifest_of(db: &Db<'_>, subject: &Subject) -> Result<Arc<Manifest>> {
    of_archive(&subject.sha256, || {
        let row = packages::kept(db, &subject.sha256)?;
        let bytes = row.map(|row| packages::archive(db, &row)).transpose()?.flatten();
        bytes.ok_or_else(|| {
            let what = format!("The archive of {} is missing from the database", subject.reference());
            Error::new(Code::Damaged, what)
                .hint(format!("`mcpkg tool install {}` fetches the archive again", subject.name))
        })
    })
}

/// Returns the manifest in the archive with this SHA-256; `archive` returns the archive if it was not read before.
///
/// # Errors
/// `E_ARCHIVE_INVALID` where it cannot be used.
pub fn of_archive(sha256: &[u8; 32], archive: impl FnOnce() -> Result<NewContent>) -> Result<Arc<Manifest>> {
    let kept = || READ.lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept().get(sha256).cloned();
    let found = match found {
        Some(found) => found,
        None => {
            let opened = archive::open(archive()?);
            let read = opened.map(|opened| Arc::new(opened.manifest)).map_err(|error| error.message().to_owned());
            let mut kept = kept();
            if kept.len() >= MAX_READ {
                kept.clear();
            }
            kept.insert(*sha256, read.clone());
            read
        }
    };
    found.map_err(|why| Error::new(Code::ArchiveInvalid, why))
}

/// Returns an install as statements name it.
pub fn subject(install: &Install) -> Subject {
    Subject { name: install.name.clone(), version: install.version.clone(), sha256: install.sha256 }
}

/// Returns the subject of an archive that a registry sent, if it is the one that was asked for.
pub fn subject_of(resolved: &Resolved, manifest: &Manifest, sha256: [u8; 32]) -> Result<Subject> {
    let (name, version) = (&resolved.version.name, &resolved.version.version);
    if manifest.name != *name || manifest.version.as_ref() != Some(version) {
        let what = format!("The archive of {name}@{version} contains a different tool or version: '{}'", manifest.name);
        let hint = "mcpkg discarded the archive; report this to the registry's maintainers";
        return Err(Error::new(Code::ArchiveInvalid, what).hint(hint));
    }
    Ok(Subject { name: name.to_string(), version: version.to_string(), sha256 })
}

/// Returns the actions as projected names have them: `None` for the main one, or the only one, or a document.
pub fn projected_actions(manifest: &Manifest) -> Vec<Option<&str>> {
    manifest.projected().into_iter().map(|(name, _)| name).collect()
}
