//! The program of a call: its package is read in memory, out of the archive that was checked.

use std::path::Path;
use std::sync::Arc;

use super::cache;
use super::contained::contained;
use super::program::Program;
use crate::error::Result;
use crate::registry::package::archive;

/// Returns the program at a path of an archive with this digest, whose bytes `archive` returns where they are needed. The
/// inner failure says why it cannot be started.
///
/// # Errors
/// What `archive` fails with; `E_ARCHIVE_INVALID`.
pub fn of_archive(
    sha256: &[u8; 32],
    path: &str,
    archive: impl FnOnce() -> Result<Arc<Vec<u8>>>,
) -> Result<Result<Arc<Program>, String>> {
    cache::get_or(sha256, path, || {
        let files = Arc::new(archive::contents(&archive()?)?);
        contained(|| Program::compile(path, files))
    })
}

/// Returns the program at a path of a folder of the user's, as an archive of it would have it.
///
/// # Errors
/// `E_ARCHIVE_INVALID` where the folder holds what no archive may; `E_FILE_FAILED`.
pub fn of_folder(folder: &Path, path: &str) -> Result<Result<Arc<Program>, String>> {
    let files = Arc::new(archive::contents_of(folder)?);
    contained(|| Program::compile(path, files).map(Arc::new))
}
