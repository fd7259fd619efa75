//! Resolves paths that users write.

use std::path::{Path, PathBuf};

/// Resolves the links of a path that exists; returns any other path unchanged.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns a path with the home folder instead of a leading `~`.
pub(super) fn expand(path: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    }
}
