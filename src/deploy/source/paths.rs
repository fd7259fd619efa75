//! Paths as users write them.

use std::path::{Path, PathBuf};

/// Returns a path without links where it exists, else as it is.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns a path with the home folder in place of a leading `~`.
pub(super) fn expand(path: &Path, home: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.to_owned(),
    }
}
