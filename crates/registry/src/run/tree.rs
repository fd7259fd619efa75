//! Finds the files of a tool: a folder of the user, or the checked copy of an archive.

use std::path::PathBuf;

use super::call::Tree;
use super::trees::{self, Cache};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::packages;

/// Returns the folder with the tool's files. For an archive, this is its unpacked copy in the cache, which is checked
/// first.
///
/// # Errors
/// `E_NOT_FOUND` if the folder does not exist or is a file; `E_DAMAGED` if the archive in the database is missing or
/// has changed; `E_ARCHIVE_INVALID` if the archive cannot be unpacked.
pub fn of(context: &Context, tree: &Tree) -> Result<PathBuf> {
    let now = context.clock.now();
    match tree {
        Tree::Folder(folder) => {
            let real = mcpkg_base::platform::real(folder).map_err(|error| Error::file("read", folder, error))?;
            match real.is_dir() {
                true => Ok(real),
                false => Err(Error::new(Code::NotFound, format!("`{}` is not a folder", folder.display()))),
            }
        }
        Tree::Archive(sha256) => trees::checked(&Cache::of(context)?, sha256, now, || archive(context, sha256)),
        Tree::Fetched(archive) => trees::checked(&Cache::of(context)?, &archive.sha256(), now, || Ok(archive.clone())),
    }
}

/// Returns the archive in the database with this SHA-256.
///
/// # Errors
/// `E_DAMAGED` if the archive is missing or has changed.
pub fn archive(context: &Context, sha256: &[u8; 32]) -> Result<NewContent> {
    let kept = context.store.read(|db| match packages::with_digest(db, sha256)? {
        Some(row) => packages::archive(db, &row),
        None => Ok(None),
    })?;
    kept.filter(|archive| archive.sha256() == *sha256).ok_or_else(|| {
        let why = format!("The archive {} is missing from the database", hex::encode(sha256));
        Error::new(Code::Damaged, why).hint("install the tool again")
    })
}
