//! Reads files that are scanned; small ones stay in memory.

use std::path::Path;

use super::conflict;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;
use mcpkg_store::new_content::NewContent;

/// Maximum size of a file that stays in memory until it is stored, and of all of them together. Larger files are read again.
const SMALL: u64 = 256 << 10;
const ALL_SMALL: u64 = 64 << 20;

/// Reads files one after the other.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    files: file::Series,
    /// Bytes that are in memory.
    kept: u64,
}

/// What is seen of a file that is read.
pub(crate) struct Look {
    pub(crate) content: NewContent,
    /// Whether it can be executed.
    pub(crate) executable: bool,
    /// Whether it contains conflict markers; only checked for small files.
    pub(crate) is_unmerged: bool,
}

impl Reading {
    /// Reads a file. What it holds stays in memory where it is small and `is_held`, else it is read again where it is needed.
    pub(crate) fn read(&mut self, path: &Path, is_held: bool) -> Result<Look> {
        let failed = |error| Error::file("read", path, error);
        let (file, metadata) = self.files.open(path).map_err(failed)?;
        let executable = is_executable(&metadata);
        let fits = !is_held || self.kept + metadata.len() <= ALL_SMALL;
        if metadata.len() > SMALL || !fits {
            return Ok(Look { content: NewContent::file(path)?, executable, is_unmerged: false });
        }
        let bytes = file::read_sized(file, metadata.len(), file::TEXT).map_err(failed)?;
        let may_be_unmerged = conflict::is_in(&bytes);
        let content = if is_held {
            self.kept += bytes.len() as u64;
            bytes.into()
        } else {
            NewContent::at(path, &bytes)
        };
        Ok(Look { is_unmerged: may_be_unmerged && content.is_text(), content, executable })
    }
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}
