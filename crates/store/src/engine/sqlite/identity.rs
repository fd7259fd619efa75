//! Detects that a path no longer leads to the file that was opened.

use std::fs;
use std::path::Path;

use super::access::Access;
use super::files::{beside, wal_size};
use mcpkg_base::platform;

/// Identifies a file, to recognize later that another file is at its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    file: Option<(u64, u64)>,
    /// The state by which a change of the file is detected, if it was opened as immutable.
    state: Option<(u64, Option<std::time::SystemTime>, u64)>,
}

/// Identifies a WAL, to recognize later that another WAL is at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WalIdentity(Option<(u64, u64)>);

impl WalIdentity {
    /// Returns the identity of the WAL next to a file, if there is one.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let wal = beside(path, "-wal");
        fs::metadata(&wal).ok().map(|metadata| Self(platform::identity(&wal, &metadata)))
    }
}

impl Identity {
    /// Returns the identity of the file that is at `path` now, if there is one.
    pub(super) fn of(path: &Path, access: Access) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let state = || (metadata.len(), metadata.modified().ok(), wal_size(path));
        Some(Self { file: platform::identity(path, &metadata), state: access.is_immutable().then(state) })
    }

    /// Whether both identify the same file, even if its content has changed.
    pub(super) fn is_of_file(&self, other: &Self) -> bool {
        self.file == other.file
    }
}
