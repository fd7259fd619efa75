//! Files that a caller named: a person's may lie anywhere, an agent's lie below the workspace's root, where no link leads out.

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

/// What opens the files of a caller.
pub struct Files {
    root: PathBuf,
    /// The folders below the root, where the caller is an agent.
    folders: Option<Folders>,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    File,
    Folder,
}

impl Files {
    /// Returns what opens the files of the caller in a workspace.
    pub fn of(context: &Context, workspace: &Workspace) -> Self {
        let root = workspace.root.clone();
        let folders = (!context.is_shell()).then(|| Folders::below(vec![root.clone()]));
        Self { root, folders }
    }

    /// Returns the path that a text names: a person's as the shell has it, an agent's below the root.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` where an agent's leaves the root.
    pub fn path(&self, text: &str) -> Result<PathBuf> {
        if self.folders.is_none() {
            return Ok(PathBuf::from(text));
        }
        let relative = Path::new(text).strip_prefix(&self.root).ok().and_then(Path::to_str).unwrap_or(text);
        crate::root::below(&self.root, relative)
    }

    /// Returns what a path leads to.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` where it is a link of an agent's, or neither.
    pub fn found(&mut self, path: &Path) -> Result<Found> {
        let kind = match self.holding(path)? {
            Some((folder, name)) => folder.entry(&name)?.map(|entry| entry.kind),
            None if self.folders.is_some() => None,
            None => {
                let metadata = std::fs::metadata(path).map_err(|error| Error::file("read", path, error))?;
                return Ok(if metadata.is_dir() { Found::Folder } else { Found::File });
            }
        };
        match kind {
            Some(Kind::File) => Ok(Found::File),
            Some(Kind::Folder) => Ok(Found::Folder),
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

    /// Returns the bytes of a regular file, which has at most `limit` of them.
    pub fn read(&mut self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let file = self.open(path)?;
        file::read_open(file, limit).map_err(|error| disk::failed("read", path, error))
    }

    /// Returns the names in a folder, in order.
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

    /// Returns the folder below the root that holds an agent's path, and its name there.
    fn holding(&mut self, path: &Path) -> Result<Option<(std::rc::Rc<Folder>, OsString)>> {
        let Some(folders) = &mut self.folders else { return Ok(None) };
        Ok(folders.holding(path)?.map(|(folder, name)| (folder, name.to_owned())))
    }
}

fn missing(path: &Path) -> Error {
    Error::new(Code::NotFound, format!("`{}` does not exist", path.display()))
}
