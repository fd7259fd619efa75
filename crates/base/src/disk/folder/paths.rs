//! Implements the folder operations by path, for systems without calls relative to an open folder. On these systems,
//! mcpkg does not notice if a folder is replaced.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use super::entry::{Entry, Kind};

/// Nothing is kept open: every call resolves the path again.
pub(super) type Handle = ();

pub(super) fn open_top(path: &Path) -> Result<Handle> {
    fs::metadata(path).map(drop)
}

pub(super) fn open_child(_: &Handle, folder: &Path, name: &OsStr) -> Result<Handle> {
    match entry_at(&folder.join(name))?.kind {
        Kind::Folder => Ok(()),
        Kind::File | Kind::Link | Kind::Other => Err(ErrorKind::NotADirectory.into()),
    }
}

pub(super) fn make_folder(_: &Handle, folder: &Path, name: &OsStr) -> Result<()> {
    fs::create_dir(folder.join(name))
}

pub(super) fn remove_folder(_: &Handle, folder: &Path, name: &OsStr) -> Result<()> {
    fs::remove_dir(folder.join(name))
}

pub(super) fn entry(_: &Handle, folder: &Path, name: &OsStr) -> Result<Entry> {
    entry_at(&folder.join(name))
}

pub(super) fn names(_: &Handle, folder: &Path) -> Result<Vec<OsString>> {
    fs::read_dir(folder)?.map(|found| Ok(found?.file_name())).collect()
}

pub(super) fn own_entry(_: &Handle, folder: &Path) -> Result<Entry> {
    entry_at(folder)
}

pub(super) fn entry_at(path: &Path) -> Result<Entry> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(Entry { kind: kind(metadata.file_type()), mode: crate::disk::mode(&metadata), stat: None, identity: (0, 0) })
}

fn kind(of: fs::FileType) -> Kind {
    match of {
        it if it.is_symlink() => Kind::Link,
        it if it.is_dir() => Kind::Folder,
        it if it.is_file() => Kind::File,
        _ => Kind::Other,
    }
}

pub(super) fn open_file(_: &Handle, folder: &Path, name: &OsStr) -> Result<File> {
    crate::file::open(&folder.join(name))
}

pub(super) fn create_file(_: &Handle, folder: &Path, name: &OsStr, _: u32) -> Result<File> {
    File::options().write(true).create_new(true).open(folder.join(name))
}

pub(super) fn read_link(_: &Handle, folder: &Path, name: &OsStr) -> Result<OsString> {
    fs::read_link(folder.join(name)).map(PathBuf::into_os_string)
}

pub(super) fn link(_: &Handle, folder: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    fs::hard_link(folder.join(from), folder.join(to))
}

pub(super) fn rename(_: &Handle, folder: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    fs::rename(folder.join(from), folder.join(to))
}

pub(super) fn move_new(from: (&Handle, &Path, &OsStr), to: (&Handle, &Path, &OsStr)) -> Result<()> {
    match entry(to.0, to.1, to.2) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(from.1.join(from.2), to.1.join(to.2)),
        Err(error) => Err(error),
    }
}

pub(super) fn symlink(_: &Handle, _: &Path, _: &str, _: &OsStr) -> Result<()> {
    Err(Error::from(ErrorKind::Unsupported))
}

pub(super) fn remove_file(_: &Handle, folder: &Path, name: &OsStr) -> Result<()> {
    fs::remove_file(folder.join(name))
}

pub(super) fn sync(_: &Handle, _: &Path) -> Result<()> {
    Ok(())
}

pub(super) fn file_of(_: &Handle) -> Result<Option<File>> {
    Ok(None)
}

pub(super) fn whereabouts(_: &Handle) -> Option<PathBuf> {
    None
}
