//! Writes files to an exported folder.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::import::find::links::end;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::blobs::{self, Verify};

pub(crate) fn scratch(folder: &Path) -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix(".mcpkg-").tempdir_in(folder);
    made.map_err(|error| Error::file("write", folder, error))
}

/// Creates the folder, or accepts an empty one. Returns whether it was created.
pub(crate) fn make(folder: &Path) -> Result<bool> {
    let failed = |error| Error::file("write", folder, error);
    match fs::read_dir(folder) {
        Ok(mut listing) => match listing.next() {
            None => Ok(false),
            Some(_) => Err(Error::new(Code::AlreadyExists, format!("The folder `{}` is not empty", folder.display()))
                .hint("choose a folder that is empty or does not exist; an export never overwrites files")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(failed)?;
            Ok(true)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes each content to a file in `scratch`, which can later be moved to its final path.
pub(crate) fn fetch<T>(
    db: &Db<'_>,
    all: Vec<(T, i64)>,
    scratch: &Path,
    context: &Context,
) -> Result<Vec<(T, NewContent)>> {
    let total = all.len() as u64;
    let mut items = Vec::new();
    for (done, (item, blob)) in (1..).zip(all) {
        let path = scratch.join(done.to_string());
        let failed = |error| Error::file("write", &path, error);
        let mut file = fs::File::create(&path).map_err(failed)?;
        blobs::stream_by_id(db, blob, Verify::Sha256, |piece| {
            if context.is_cancelled() {
                return Err(Error::new(Code::Cancelled, "The export was cancelled; nothing was written"));
            }
            file.write_all(piece).map_err(failed)
        })?;
        items.push((item, NewContent::file(&path)?));
        (context.progress)("Exporting", done, total);
    }
    Ok(items)
}

/// Writes files (path, content, executable) to a temporary folder inside `folder`. When all are complete, moves them to
/// `folder`.
pub(crate) fn files<'f>(folder: &Path, files: impl IntoIterator<Item = (&'f str, &'f NewContent, bool)>) -> Result<()> {
    let failed = |error| Error::file("write", folder, error);
    let staging = scratch(folder)?;
    for (relative, content, executable) in files {
        file(&staging.path().join(relative), content, executable)?;
    }
    for entry in fs::read_dir(staging.path()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        fs::rename(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
    }
    Ok(())
}

/// How a link was written to an exported folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linked {
    Link,
    /// A copy of the file that the link leads to.
    Copy,
    /// Nothing, because the link does not lead to a file.
    Nothing,
}

/// Creates the link `path` in `folder`. Windows and some disks do not let every user create links. There, the file that
/// the link leads to is copied, and a link to a folder is left out.
pub(crate) fn link(folder: &Path, path: &str, target: &str) -> Result<Linked> {
    let at = folder.join(path);
    make_parent(&at)?;
    or_copied(folder, path, target, platform::symlink(target, &at))
}

fn or_copied(folder: &Path, path: &str, target: &str, made: std::io::Result<()>) -> Result<Linked> {
    let at = folder.join(path);
    match made {
        Ok(()) => Ok(Linked::Link),
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
            match end(path, target).map(|end| folder.join(end)).filter(|original| original.is_file()) {
                Some(original) => copy(&at, &original).map(|()| Linked::Copy),
                None => Ok(Linked::Nothing),
            }
        }
        Err(error) => Err(Error::file("write", &at, error)),
    }
}

/// Copies a file with its permissions.
pub(crate) fn copy(path: &Path, original: &Path) -> Result<()> {
    make_parent(path)?;
    fs::copy(original, path).map(drop).map_err(|error| Error::file("write", path, error))
}

fn make_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| Error::file("write", path, error))
}

/// Writes the content to `path`. If the content is a file on disk, that file is moved there.
pub(crate) fn file(path: &Path, content: &NewContent, executable: bool) -> Result<()> {
    let failed = |error| Error::file("write", path, error);
    make_parent(path)?;
    match content.path() {
        Some(scratch) => fs::rename(scratch, path).map_err(failed)?,
        None => fs::write(path, content.bytes()?).map_err(failed)?,
    }
    platform::set_path_mode(path, if executable { 0o755 } else { 0o644 }).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_cannot_be_made_is_copied() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        for path in ["a/b.md", "links"] {
            make_parent(&folder.join(path)).unwrap();
        }
        fs::write(folder.join("a/b.md"), "text").unwrap();
        let refused = || Err(ErrorKind::PermissionDenied.into());
        assert_eq!(or_copied(folder, "c.md", "a/b.md", refused()).unwrap(), Linked::Copy);
        assert_eq!(or_copied(folder, "a/d.md", "../a/b.md", refused()).unwrap(), Linked::Copy);
        assert_eq!(fs::read_to_string(folder.join("a/d.md")).unwrap(), "text");
        assert_eq!(or_copied(folder, "e", "a", refused()).unwrap(), Linked::Nothing);
        assert_eq!(or_copied(folder, "f", "none.md", refused()).unwrap(), Linked::Nothing);
        assert!(!folder.join("e").exists());
        let full = Err(ErrorKind::StorageFull.into());
        assert!(or_copied(folder, "g.md", "a/b.md", full).unwrap_err().message().contains("g.md"));
    }
}
