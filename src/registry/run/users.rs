//! The user that a tool is in bubblewrap: a name for whoever runs mcpkg.

use std::io;
use std::path::{Path, PathBuf};

use super::bwrap::USER;
use super::mount::Mount;

/// The files that name it, with what stands in each.
fn files() -> [(&'static str, String); 2] {
    [("passwd", format!("tool:x:{USER}:{USER}::/tmp:/bin/sh\n")), ("group", format!("tool:x:{USER}:\n"))]
}

/// Returns the mounts of the files that [`write`] writes into `scratch`.
pub(super) fn mounts(scratch: &Path) -> impl Iterator<Item = Mount> {
    files().into_iter().map(move |(name, _)| Mount::read(scratch.join(name), PathBuf::from("/etc").join(name)))
}

/// Writes the files.
///
/// # Errors
/// How the disk failed to take them.
pub(super) fn write(scratch: &Path) -> io::Result<()> {
    files().into_iter().try_for_each(|(name, text)| std::fs::write(scratch.join(name), text))
}
