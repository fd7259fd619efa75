//! Keeps a folder open, so that files are written into that very folder even if its path changes meanwhile.
//!
//! A system call that takes a path resolves it from the start. If someone replaces a folder with a link between two
//! calls, the second call goes elsewhere. Here a folder is opened once, without following links, and every later call
//! names a file relative to the open folder. [`Folders`](super::folders::Folders) opens such folders. Windows does
//! not have these calls; there, each operation uses the path.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::attributes::Attributes;
use super::syncs::Syncs;
use super::{PathState, failed};
use crate::error::{Code, Error, Result};
use crate::file;
use crate::platform::{self, folder as system};
use crate::sha256;

pub use crate::platform::entry::{Entry, Kind, Stat};

pub struct Folder {
    path: PathBuf,
    handle: system::Handle,
}

impl Folder {
    /// Opens the folder at `path` as the root of a tree.
    pub fn top(path: &Path) -> Result<Self> {
        let handle = system::open_top(path).map_err(|error| failed("open", path, error))?;
        Ok(Self { path: path.to_owned(), handle })
    }

    /// Opens the subfolder `name` without following a link; `None` if it does not exist.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if it is not a folder.
    pub(super) fn child(&self, name: &OsStr) -> Result<Option<Self>> {
        let path = self.path.join(name);
        match system::open_child(&self.handle, &self.path, name) {
            Ok(handle) => Ok(Some(Self { path, handle })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => match self.entry(name)?.map(|entry| entry.kind) {
                None | Some(Kind::Folder) => Err(failed("open", &path, error)),
                Some(Kind::Link) => Err(in_the_way(&path, "a link")),
                Some(Kind::File | Kind::Other) => Err(in_the_way(&path, "not a folder")),
            },
        }
    }

    /// Returns the path that the folder was opened at.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the metadata of `name`, without following a link; `None` if it does not exist.
    pub fn entry(&self, name: &OsStr) -> Result<Option<Entry>> {
        match system::entry(&self.handle, &self.path, name) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// Returns the names in the folder, sorted.
    pub fn names(&self) -> Result<Vec<OsString>> {
        let names = system::names(&self.handle, &self.path).and_then(Iterator::collect);
        let mut names: Vec<OsString> = names.map_err(|error| failed("read", &self.path, error))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Reads the file `name`, of at most `limit` bytes. Refuses links.
    pub fn read(&self, name: &OsStr, limit: u64) -> Result<Vec<u8>> {
        file::read_open(self.open_file(name)?, limit).map_err(|error| self.failed("read", name, error))
    }

    /// Opens the file `name` for reading. Refuses links.
    ///
    /// # Errors
    /// `E_NOT_FOUND`, `E_IO_INVALID_PATH` if it is not a regular file.
    pub fn open_file(&self, name: &OsStr) -> Result<File> {
        let kind = self.entry(name)?.map(|entry| entry.kind);
        if let Some(Kind::Link | Kind::Folder | Kind::Other) = kind {
            let path = self.path.join(name);
            return Err(Error::new(Code::InvalidPath, format!("`{}` is not a regular file", path.display())));
        }
        system::open_file(&self.handle, &self.path, name).map_err(|error| self.failed("read", name, error))
    }

    /// Opens the file `name` for reading, without following a link; `None` if it does not exist.
    pub fn open(&self, name: &OsStr) -> Result<Option<File>> {
        match system::open_file(&self.handle, &self.path, name) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// Returns what is at `name`, without following a link.
    pub fn look(&self, name: &OsStr) -> Result<PathState> {
        let Some(entry) = self.entry(name)? else { return Ok(PathState::Absent) };
        let read = || match entry.kind {
            Kind::Link => {
                let text = system::read_link(&self.handle, &self.path, name)?;
                // A link whose target is not valid UTF-8 could not be restored.
                Ok(text.into_string().map_or(PathState::Other, PathState::Link))
            }
            Kind::Folder | Kind::Other => Ok(PathState::Other),
            Kind::File => {
                let bytes = file::read_open(system::open_file(&self.handle, &self.path, name)?, file::WHOLE)?;
                Ok(PathState::File { sha256: sha256::of(&bytes), bytes, mode: entry.mode })
            }
        };
        read().map_err(|error| self.failed("read", name, error))
    }

    /// Returns the attributes of the file `name`; `None` if it does not exist or cannot be read.
    pub fn attributes(&self, name: &OsStr) -> Option<Attributes> {
        // Check the kind first: a link must not be followed, and a device must not be opened.
        self.entry(name).ok()?.filter(|entry| entry.kind == Kind::File)?;
        Some(Attributes::of(&system::open_file(&self.handle, &self.path, name).ok()?))
    }

    /// Writes the new file `temporary`, which will later be renamed to `name`, with as many of the `attributes` as the
    /// user may set. Syncs it to disk.
    pub fn write_beside(
        &self,
        name: &OsStr,
        temporary: &OsStr,
        bytes: &[u8],
        mode: u32,
        attributes: Option<&Attributes>,
    ) -> Result<()> {
        let file = self.create_beside(name, temporary, (bytes, mode, attributes))?;
        // `sync_data` would not include the attributes.
        let synced = if attributes.is_some() { file.sync_all() } else { file.sync_data() };
        synced.map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            self.failed("write", name, error)
        })
    }

    /// Writes one of many files, as [`Folder::write_beside`] does. It is on disk once `syncs` has finished.
    pub fn write_beside_with(
        &self,
        name: &OsStr,
        temporary: &OsStr,
        content: (&[u8], u32, Option<&Attributes>),
        syncs: &mut Syncs,
    ) -> Result<()> {
        let file = self.create_beside(name, temporary, content)?;
        syncs.file(&self.path.join(name), file)
    }

    fn create_beside(
        &self,
        name: &OsStr,
        temporary: &OsStr,
        (bytes, mode, attributes): (&[u8], u32, Option<&Attributes>),
    ) -> Result<File> {
        let write = || {
            let mut file = system::create_file(&self.handle, &self.path, temporary, mode)?;
            file.write_all(bytes)?;
            platform::ensure_mode(&file, mode)?;
            if let Some(attributes) = attributes {
                attributes.give(&file);
            }
            Ok(file)
        };
        write().map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            self.failed("write", name, error)
        })
    }

    /// Moves a file from its temporary name to its final name. With `new`, an existing file is not replaced. The change
    /// survives a crash once the folder is synced too ([`Folder::sync`]).
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` if `new` is set and the name is taken.
    pub fn put_in_place(&self, name: &OsStr, temporary: &OsStr, new: bool) -> Result<()> {
        let put = || match new {
            true => system::put_new(&self.handle, &self.path, temporary, name),
            false => system::rename(&self.handle, &self.path, temporary, name),
        };
        put().map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            if error.kind() == ErrorKind::AlreadyExists {
                let path = self.path.join(name);
                return Error::new(Code::AlreadyExists, format!("`{}` was created in the meantime", path.display()));
            }
            self.failed("write", name, error)
        })
    }

    /// Creates a symbolic link under a temporary name and renames it to `name`.
    pub fn put_link(&self, name: &OsStr, temporary: &OsStr, text: &str) -> Result<()> {
        let linked = system::symlink(&self.handle, &self.path, text, temporary)
            .and_then(|()| system::rename(&self.handle, &self.path, temporary, name));
        linked.map_err(|error| {
            let _ = system::remove_file(&self.handle, &self.path, temporary);
            self.failed("write", name, error)
        })
    }

    /// Creates a symbolic link; returns false if the name is taken.
    pub fn make_link(&self, name: &OsStr, text: &str) -> Result<bool> {
        match system::symlink(&self.handle, &self.path, text, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.failed("write", name, error)),
        }
    }

    /// Gives the file `name` the second name `other`. Ignores failures, because some disks have no hard links.
    pub fn link_beside(&self, name: &OsStr, other: &OsStr) {
        let _ = system::link(&self.handle, &self.path, name, other);
    }

    /// Renames `from` to `to`. Replaces an existing `to`.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        system::rename(&self.handle, &self.path, from, to).map_err(|error| self.failed("put back", to, error))
    }

    /// Moves `from` to `to` in the folder `target`. Fails if `to` exists.
    pub fn move_new(&self, from: &OsStr, target: &Self, to: &OsStr) -> Result<()> {
        let moved = system::move_new((&self.handle, &self.path, from), (&target.handle, &target.path, to));
        moved.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => {
                let path = target.path.join(to);
                Error::new(Code::AlreadyExists, format!("`{}` exists", path.display()))
            }
            _ => target.failed("write", to, error),
        })
    }

    /// Removes a file or link. A missing file is not an error.
    pub fn remove(&self, name: &OsStr) -> Result<()> {
        use ErrorKind::{InvalidFilename, NotADirectory, NotFound};
        match system::remove_file(&self.handle, &self.path, name) {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename) => Ok(()),
            // A read-only disk reports an error even if there is nothing to remove.
            Err(_) if matches!(self.entry(name), Ok(None)) => Ok(()),
            Err(error) => Err(self.failed("delete", name, error)),
        }
    }

    /// Creates the subfolder `name`. An existing folder is not an error.
    pub(super) fn make_folder(&self, name: &OsStr) -> Result<()> {
        match system::make_folder(&self.handle, &self.path, name) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(self.failed("make", name, error)),
            _ => Ok(()),
        }
    }

    /// Removes the subfolder `name` if it is empty.
    pub(super) fn remove_empty_folder(&self, name: &OsStr) {
        let _ = system::remove_folder(&self.handle, &self.path, name);
    }

    /// Syncs the names in the folder to disk.
    pub fn sync(&self) {
        // Ignore failures: some file systems cannot sync folders, and the files themselves are synced.
        let _ = system::file_of(&self.handle).and_then(|folder| folder.map_or(Ok(()), |folder| folder.sync_all()));
    }

    /// Syncs the names in one of many folders. They are on disk once `syncs` has finished.
    pub(super) fn sync_with(&self, syncs: &mut Syncs) -> Result<()> {
        match system::file_of(&self.handle).map_err(|error| failed("open", &self.path, error))? {
            Some(folder) => syncs.folder(&self.path, folder),
            None => Ok(()),
        }
    }

    fn failed(&self, verb: &str, name: &OsStr, error: io::Error) -> Error {
        failed(verb, &self.path.join(name), error)
    }

    /// Returns where the folder is now if its original path no longer leads to it.
    pub(super) fn moved(&self) -> Option<Moved> {
        let own = system::own_entry(&self.handle, &self.path).ok().map(|entry| entry.identity);
        let there = system::entry_at(&self.path).ok().filter(|entry| entry.kind == Kind::Folder);
        if own.is_some() && there.map(|entry| entry.identity) == own {
            return None;
        }
        Some(Moved { path: self.path.clone(), now: platform::whereabouts(&self.handle) })
    }
}

/// A folder that was moved or replaced after it was opened.
#[derive(Clone, Debug)]
pub struct Moved {
    pub path: PathBuf,
    /// The current path, if the system reports one.
    pub now: Option<PathBuf>,
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.now {
            Some(now) => write!(f, "`{}` is now at `{}`", self.path.display(), now.display()),
            None => write!(f, "`{}` was moved or removed", self.path.display()),
        }
    }
}

/// Returns the error for a path that mcpkg does not write to. `what` completes the sentence "it is ...".
pub(super) fn in_the_way(path: &Path, what: &str) -> Error {
    Error::new(Code::InvalidPath, format!("Cannot write files in `{}`: it is {what}", path.display()))
        .with_details(serde_json::json!({ "path": path.display().to_string(), "path_posix": super::posix(path) }))
        .hint("find out which program is changing this folder, and try again")
}
