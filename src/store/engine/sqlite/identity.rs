//! Whether a file is still the one that was opened.

use std::fs;
use std::path::Path;

use super::access::Access;
use super::files::{beside, wal_size};

/// What tells a file from another one that later takes its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    file: (u64, u64),
    /// Of a file that is read as if nobody could change it: what shows that somebody did.
    state: Option<(u64, Option<std::time::SystemTime>, u64)>,
}

/// What tells a WAL from another one that later takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WalIdentity((u64, u64));

impl WalIdentity {
    /// Returns the identity of the WAL beside a file, if there is one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(beside(path, "-wal")).ok().map(|metadata| Self(file_of(&metadata)))
    }
}

impl Identity {
    /// Returns the identity of what stands at `path` now, if anything does.
    pub(super) fn of(path: &Path, access: Access) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let state = || (metadata.len(), metadata.modified().ok(), wal_size(path));
        Some(Self { file: file_of(&metadata), state: access.is_immutable().then(state) })
    }

    /// Whether both are of one file, whatever stands in it.
    pub(super) fn is_of_file(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

#[cfg(unix)]
fn file_of(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Windows does not let an open database be renamed or removed; its creation time is enough.
#[cfg(not(unix))]
fn file_of(metadata: &fs::Metadata) -> (u64, u64) {
    let created = metadata.created().ok().and_then(|created| created.elapsed().ok()).map(|_| 0);
    (created.unwrap_or(0), 0)
}
