//! Resolves paths that users write.

use std::path::{Path, PathBuf};

/// Resolves the symbolic links in a path. A path that does not exist is returned unchanged.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Replaces a leading `~` with the home folder.
pub(super) fn expand(path: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    }
}
