//! Implements the folder operations by path, for systems without calls relative to an open folder. On these systems,
//! mcpkg does not notice if a folder is replaced.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::platform::entry::{Entry, Kind};

/// Nothing is kept open: every call resolves the path again.
pub type Handle = ();

pub fn open_top(path: &Path) -> Result<Handle> {
    fs::metadata(path).map(drop)
}

pub fn open_child(_: &Handle, folder: &Path, name: &OsStr) -> Result<Handle> {
    match entry_at(&folder.join(name))?.kind {
        Kind::Folder => Ok(()),
        Kind::File | Kind::Link | Kind::Other => Err(ErrorKind::NotADirectory.into()),
    }
}

pub fn make_folder(_: &Handle, folder: &Path, name: &OsStr) -> Result<()> {
    fs::create_dir(folder.join(name))
}

pub fn remove_folder(_: &Handle, folder: &Path, name: &OsStr) -> Result<()> {
    fs::remove_dir(folder.join(name))
}

pub fn entry(_: &Handle, folder: &Path, name: &OsStr) -> Result<Entry> {
    entry_at(&folder.join(name))
}

/// Returns the names in a folder.
pub fn names(_: &Handle, folder: &Path) -> Result<impl Iterator<Item = Result<OsString>> + use<>> {
    Ok(fs::read_dir(folder)?.map(|found| Ok(found?.file_name())))
}

pub fn own_entry(_: &Handle, folder: &Path) -> Result<Entry> {
    entry_at(folder)
}

pub fn entry_at(path: &Path) -> Result<Entry> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(Entry { kind: kind(metadata.file_type()), mode: super::files::mode(&metadata), stat: None, identity: (0, 0) })
}

fn kind(of: fs::FileType) -> Kind {
    match of {
        it if it.is_symlink() => Kind::Link,
        it if it.is_dir() => Kind::Folder,
        it if it.is_file() => Kind::File,
        _ => Kind::Other,
    }
}

/// Opens a regular file for reading. Refuses links.
pub fn open_file(handle: &Handle, folder: &Path, name: &OsStr) -> Result<File> {
    match entry(handle, folder, name)?.kind {
        Kind::File => File::options().read(true).open(folder.join(name)),
        Kind::Link | Kind::Folder | Kind::Other => {
            Err(Error::new(ErrorKind::InvalidInput, "it is no longer a regular file"))
        }
    }
}

pub fn create_file(_: &Handle, folder: &Path, name: &OsStr, _: u32) -> Result<File> {
    File::options().write(true).create_new(true).open(folder.join(name))
}

pub fn read_link(_: &Handle, folder: &Path, name: &OsStr) -> Result<OsString> {
    fs::read_link(folder.join(name)).map(PathBuf::into_os_string)
}

pub fn link(_: &Handle, folder: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    fs::hard_link(folder.join(from), folder.join(to))
}

pub fn rename(_: &Handle, folder: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    fs::rename(folder.join(from), folder.join(to))
}

/// Renames without replacing.
pub fn move_new(from: (&Handle, &Path, &OsStr), to: (&Handle, &Path, &OsStr)) -> Result<()> {
    match entry(to.0, to.1, to.2) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let (from, to) = (from.1.join(from.2), to.1.join(to.2));
            // A hard link, unlike a rename, never replaces a file. Folders cannot be linked, and on Windows a rename
            // never replaces them.
            match fs::hard_link(&from, &to) {
                Ok(()) => fs::remove_file(from),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
                Err(_) => fs::rename(from, to),
            }
        }
        Err(error) => Err(error),
    }
}

pub fn put_new(folder: &Handle, path: &Path, from: &OsStr, to: &OsStr) -> Result<()> {
    move_new((folder, path, from), (folder, path, to))
}

pub fn symlink(_: &Handle, folder: &Path, text: &str, name: &OsStr) -> Result<()> {
    super::files::symlink(text, &folder.join(name))
}

pub fn remove_file(_: &Handle, folder: &Path, name: &OsStr) -> Result<()> {
    fs::remove_file(folder.join(name))
}

/// Returns nothing: this system cannot sync folders.
pub fn file_of(_: &Handle) -> Result<Option<File>> {
    Ok(None)
}
