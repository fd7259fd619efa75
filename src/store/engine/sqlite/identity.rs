//! Whether a file is still the one that was opened.

use std::fs;
use std::path::Path;

use super::access::Access;
use super::files::wal_size;

/// What tells a file from another one that later takes its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    file: (u64, u64),
    /// Of a file that is read as if nobody could change it: what shows that somebody did.
    state: Option<(u64, Option<std::time::SystemTime>, u64)>,
}

impl Identity {
    /// Returns the identity of what stands at `path` now, if anything does.
    pub(super) fn of(path: &Path, access: Access) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let state = || (metadata.len(), metadata.modified().ok(), wal_size(path));
        let state = access.is_immutable().then(state);
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(Self { file: (metadata.dev(), metadata.ino()), state })
        }
        #[cfg(not(unix))]
        {
            // Windows does not let an open database be renamed or removed; its creation time is enough.
            let created = metadata.created().ok()?.elapsed().ok().map(|_| 0);
            Some(Self { file: (created.unwrap_or(0), 0), state })
        }
    }
}
