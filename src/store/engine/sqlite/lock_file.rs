//! Lock files beside the database.

use std::fs::{File, OpenOptions};
use std::path::Path;

use super::files::{beside, unavailable};
use crate::error::Result;
use crate::file;

/// Takes the right to make or to migrate the database at `path`.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = open_lock_file(&beside(path, ".lock"))?;
    file.lock().map_err(|error| unavailable(path, &error))?;
    Ok(file)
}

/// Opens a lock file, made with mode 0600 where it is not there.
///
/// # Errors
/// `E_DB_UNAVAILABLE`, `E_READ_ONLY`, `E_DISK_FULL`.
pub(in crate::store) fn open_lock_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    file::open_with(&mut options, path).map_err(|error| unavailable(path, &error))
}
