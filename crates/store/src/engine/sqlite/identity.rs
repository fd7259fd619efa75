//! Detects that a path no longer leads to the file that was opened.

use std::fs;
use std::path::Path;

use super::access::Access;
use super::files::{beside, wal_size};

/// Identifies a file, to recognize later that another file is at its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    file: (u64, u64),
    /// The state by which a change of the file is detected, if it was opened as immutable.
    state: Option<(u64, Option<std::time::SystemTime>, u64)>,
}

/// Identifies a WAL, to recognize later that another WAL is at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WalIdentity((u64, u64));

impl WalIdentity {
    /// Returns the identity of the WAL next to a file, if there is one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(beside(path, "-wal")).ok().map(|metadata| Self(file_of(&metadata)))
    }
}

impl Identity {
    /// Returns the identity of the file that is at `path` now, if there is one.
    pub(super) fn of(path: &Path, access: Access) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let state = || (metadata.len(), metadata.modified().ok(), wal_size(path));
        Some(Self { file: file_of(&metadata), state: access.is_immutable().then(state) })
    }

    /// Whether both identify the same file, even if its content has changed.
    pub(super) fn is_of_file(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

#[cfg(unix)]
fn file_of(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Returns the same value for every file. On Windows, an open database cannot be renamed or removed, so its path cannot
/// lead to another file.
#[cfg(not(unix))]
fn file_of(metadata: &fs::Metadata) -> (u64, u64) {
    let created = metadata.created().ok().and_then(|created| created.elapsed().ok()).map(|_| 0);
    (created.unwrap_or(0), 0)
}
