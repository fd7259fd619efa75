//! Opens files that a caller named. A person may name any file. An agent may name only files below the workspace's
//! root, by a path without links.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::root::Workspace;
use mcpkg_base::disk;
use mcpkg_base::disk::folder::{Folder, Kind};
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_core::op::Context;

/// Opens files for one caller.
pub struct Files {
    root: PathBuf,
    /// Restricts access to folders below the root; set if the caller is an agent.
    folders: Option<Folders>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    File,
    Folder,
}

impl Files {
    pub fn of(context: &Context, workspace: &Workspace) -> Self {
        let root = workspace.root.clone();
        let folders = (!context.is_shell()).then(|| Folders::below(vec![root.clone()]));
        Self { root, folders }
    }

    /// Resolves a path: relative to the current folder for a person, relative to the root for an agent.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if an agent's path is outside the root.
    pub fn path(&self, text: &str) -> Result<PathBuf> {
        if self.folders.is_none() {
            return Ok(PathBuf::from(text));
        }
        let relative = Path::new(text).strip_prefix(&self.root).ok().and_then(Path::to_str).unwrap_or(text);
        crate::root::below(&self.root, relative)
    }

    /// Returns whether the path is a file or a folder.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if nothing is there; `E_IO_INVALID_PATH` if an agent's path leads to something that is neither a file nor a
    /// folder, such as a link.
    pub fn kind_of(&mut self, path: &Path) -> Result<PathKind> {
        let kind = match self.holding(path)? {
            Some((folder, name)) => folder.entry(&name)?.map(|entry| entry.kind),
            None if self.folders.is_some() => None,
            None => {
                let metadata = std::fs::metadata(path).map_err(|error| Error::file("read", path, error))?;
                return Ok(if metadata.is_dir() { PathKind::Folder } else { PathKind::File });
            }
        };
        match kind {
            Some(Kind::File) => Ok(PathKind::File),
            Some(Kind::Folder) => Ok(PathKind::Folder),
            Some(Kind::Link | Kind::Other) => {
                Err(Error::new(Code::InvalidPath, format!("`{}` is not a regular file", path.display())))
            }
            None => Err(missing(path)),
        }
    }

    /// Opens a regular file for reading.
    pub fn open(&mut self, path: &Path) -> Result<File> {
        match self.holding(path)? {
            Some((folder, name)) => folder.open_file(&name),
            None if self.folders.is_some() => Err(missing(path)),
            None => file::open(path).map_err(|error| disk::failed("read", path, error)),
        }
    }

    /// Reads a regular file of at most `limit` bytes.
    pub fn read(&mut self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let file = self.open(path)?;
        file::read_open(file, limit).map_err(|error| disk::failed("read", path, error))
    }

    /// Returns the names in a folder, sorted.
    pub fn names(&mut self, path: &Path) -> Result<Vec<OsString>> {
        if let Some(folders) = &mut self.folders {
            return folders.open(path)?.ok_or_else(|| missing(path))?.names();
        }
        let failed = |error| disk::failed("read", path, error);
        let entries = std::fs::read_dir(path).map_err(failed)?;
        let mut names = entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<Vec<_>, _>>();
        if let Ok(names) = &mut names {
            names.sort_unstable();
        }
        names.map_err(failed)
    }

    /// For an agent, returns the folder below the root that contains the path, and the path's last part.
    fn holding(&mut self, path: &Path) -> Result<Option<(std::rc::Rc<Folder>, OsString)>> {
        let Some(folders) = &mut self.folders else { return Ok(None) };
        Ok(folders.holding(path)?.map(|(folder, name)| (folder, name.to_owned())))
    }
}

fn missing(path: &Path) -> Error {
    Error::new(Code::NotFound, format!("`{}` does not exist", path.display()))
}
