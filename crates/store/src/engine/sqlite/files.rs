//! The database file and its side files: their names, sizes and modes, and syncing them to the disk.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;

/// Returns `path` with `suffix` added to its file name.
pub(in crate::engine) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

/// Removes an unfinished database and SQLite's side files. Missing files are not an error.
pub(super) fn remove_with_side_files(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(beside(path, suffix));
    }
}

/// Returns the size of the file without its side files, in bytes.
pub(super) fn file_size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Whether anything exists at `path`, such as a file or a dangling link, or a WAL next to it.
pub(in crate::engine) fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok() || wal_size(path) > 0
}

/// Returns the size of the WAL in bytes: the commits that are not in the file itself yet.
pub(super) fn wal_size(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |metadata| metadata.len())
}

/// Creates an empty file with mode 0600.
pub(super) fn create_private(path: &Path) -> std::io::Result<()> {
    platform::create_new(path, 0o600).map(drop)
}

/// Sets the file's mode to 0600, because a database contains hashes of tokens, and private content.
pub(super) fn make_private(path: &Path) -> Result<()> {
    platform::set_path_mode(path, 0o600).map_err(|error| Error::file("set the mode of", path, error))
}

/// Syncs a file, or the names in a folder, to the disk.
pub(super) fn sync(path: &Path) -> Result<()> {
    platform::sync(path).map_err(|error| Error::file("sync", path, error))
}

/// Returns the error for a database, or a file next to it, that cannot be opened.
pub(super) fn unavailable(path: &Path, error: &std::io::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::StorageFull => Code::DiskFull,
        ErrorKind::ReadOnlyFilesystem => Code::ReadOnly,
        _ => Code::Unavailable,
    };
    Error::new(code, format!("Cannot open the database at `{}`: {error}", path.display()))
        .hint("check that the folder exists and is writable, or name another file with --db")
}
