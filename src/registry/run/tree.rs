//! Where a tool's files are: a folder of the user's, or the checked copy of an archive.

use std::path::PathBuf;

use super::call::Tree;
use crate::error::{Code, Error, Result};
use crate::op::Context;

/// Returns the folder of a tool's files, whose content is what was checked.
///
/// # Errors
/// `E_NOT_FOUND`, `E_FILE_FAILED`.
pub fn of(_context: &Context, tree: &Tree) -> Result<PathBuf> {
    match tree {
        Tree::Folder(folder) => {
            let real = std::fs::canonicalize(folder).map_err(|error| Error::file("read", folder, error))?;
            match real.is_dir() {
                true => Ok(real),
                false => Err(Error::new(Code::NotFound, format!("`{}` is no folder", folder.display()))),
            }
        }
        Tree::Archive(_) => Err(Error::internal("archives are unpacked by another room")),
    }
}
