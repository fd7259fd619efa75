//! Opens the files of an import, and keeps small ones in memory.

use std::path::Path;

use crate::item::conflict;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;
use mcpkg_base::platform;
use mcpkg_store::blobs::NewContent;

/// Files up to this size stay in memory until they are stored, as long as all of them together are not larger than
/// [`ALL_SMALL`]. All other files are read from disk again.
const SMALL: u64 = 256 << 10;
const ALL_SMALL: u64 = 64 << 20;

#[derive(Debug, Default)]
pub struct Opener {
    files: file::Series,
    /// The total size in bytes of the files in memory.
    held: u64,
}

pub struct Opened {
    pub content: NewContent,
    pub executable: bool,
    /// Whether the file contains conflict markers. Only small files are checked.
    pub is_unmerged: bool,
}

impl Opener {
    /// Opens a file. Its content stays in memory if `is_held` is set and the file is small. Otherwise it is read again when
    /// it is needed.
    pub fn open(&mut self, path: &Path, is_held: bool) -> Result<Opened> {
        let failed = |error| Error::file("read", path, error);
        let (file, metadata) = self.files.open(path).map_err(failed)?;
        let executable = platform::is_executable(&metadata);
        let fits = !is_held || self.held + metadata.len() <= ALL_SMALL;
        if metadata.len() > SMALL || !fits {
            return Ok(Opened { content: NewContent::file(path)?, executable, is_unmerged: false });
        }
        let bytes = file::read_sized(file, metadata.len(), file::TEXT).map_err(failed)?;
        let may_be_unmerged = conflict::is_in(&bytes);
        let content = if is_held {
            self.held += bytes.len() as u64;
            bytes.into()
        } else {
            NewContent::at(path, &bytes)
        };
        Ok(Opened { is_unmerged: may_be_unmerged && content.is_text(), content, executable })
    }
}
