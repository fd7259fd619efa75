//! Reads and writes the files of a folder registry. Only regular files below the registry's folder are read.

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use mcpkg_base::disk;
use mcpkg_base::disk::folder::Kind;
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::stays_inside;
use mcpkg_store::blobs::NewContent;

/// The file that marks a folder as a registry, and the format and version that the file must state.
pub const REGISTRY: &str = "registry.json";
const FORMAT: &str = "mcpkg-registry";
const VERSION: u64 = 1;

const TEMPORARY: &str = ".mcpkg-";

/// The maximum number of entries that are read from one folder.
const ENTRIES: usize = 100_000;

/// The maximum size in bytes of a JSON file other than the index.
pub const JSON: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub struct Root {
    registry: String,
    path: PathBuf,
}

impl Root {
    pub fn new(registry: &str, path: &Path) -> Self {
        Self { registry: registry.to_owned(), path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the folder does not exist or is not a registry.
    pub fn check(&self) -> Result<()> {
        if disk::metadata(&self.path)?.is_none() {
            let why = format!("The folder of registry '{}' does not exist: `{}`", self.registry, self.path.display());
            return Err(
                Error::new(Code::RegistryUnreachable, why).hint("check that the disk with this folder is connected")
            );
        }
        let Some(bytes) = self.read(REGISTRY, JSON)? else {
            return Err(self.malformed(format!("`{}` contains no {REGISTRY}", self.path.display())));
        };
        let said: serde_json::Value = serde_json::from_slice(&bytes)
            .map_err(|error| self.malformed(format!("its {REGISTRY} is not valid JSON: {error}")))?;
        if said["format"] != FORMAT || said["version"] != VERSION {
            return Err(
                self.malformed(format!("its {REGISTRY} does not describe a registry with format version {VERSION}"))
            );
        }
        Ok(())
    }

    /// Returns the contents of `registry.json` for a new registry.
    pub fn described(name: &str) -> String {
        format!("{:#}\n", serde_json::json!({ "format": FORMAT, "version": VERSION, "name": name }))
    }

    /// Reads a regular file; `None` if it does not exist.
    ///
    /// # Errors
    /// `E_REGISTRY_ANSWER` if it is not a regular file or is larger than `limit` bytes; `E_IO_INVALID_PATH` if a
    /// link leads out of the root.
    pub fn read(&self, relative: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.open(relative, limit)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| disk::failed("read", &self.path.join(relative), error))?;
        match bytes.len() as u64 > limit {
            true => Err(self.too_large(relative, limit)),
            false => Ok(Some(bytes)),
        }
    }

    /// Like [`Root::read`], for a file that may be too large for memory.
    pub fn content(&self, relative: &str, limit: u64) -> Result<Option<NewContent>> {
        let Some(file) = self.open(relative, limit)? else { return Ok(None) };
        let content = NewContent::read_once(file.take(limit + 1));
        let content = content.map_err(|error| disk::failed("read", &self.path.join(relative), error))?;
        match content.size() > limit {
            true => Err(self.too_large(relative, limit)),
            false => Ok(Some(content)),
        }
    }

    /// Opens a regular file; `None` if it does not exist. Links are refused.
    fn open(&self, relative: &str, limit: u64) -> Result<Option<fs::File>> {
        let path = self.at(relative)?;
        let mut folders = self.folders();
        let Some((folder, name)) = folders.holding(&path)? else { return Ok(None) };
        let Some(entry) = folder.entry(name)? else { return Ok(None) };
        if entry.kind != Kind::File {
            return Err(self.malformed(format!("`{relative}` is not a regular file")));
        }
        // Check the size first, so that an oversized file is not read at all.
        if entry.stat.is_some_and(|stat| stat.size.cast_unsigned() > limit) {
            return Err(self.too_large(relative, limit));
        }
        folder.open(name)
    }

    fn too_large(&self, relative: &str, limit: u64) -> Error {
        self.malformed(format!("`{relative}` is larger than {limit} bytes"))
    }

    /// Returns a value that changes when a file is replaced; `None` if there is no file.
    pub fn validator(&self, relative: &str) -> Result<Option<String>> {
        let path = self.at(relative)?;
        let mut folders = self.folders();
        let Some((folder, name)) = folders.holding(&path)? else { return Ok(None) };
        let stat = folder.entry(name)?.and_then(|entry| entry.stat);
        Ok(stat.map(|stat| format!("{} {} {} {}", stat.size, stat.mtime, stat.ctime, stat.inode)))
    }

    /// Returns the sorted names in a folder; empty if it does not exist. Names that are not UTF-8 are skipped.
    pub fn names(&self, relative: &str) -> Result<Vec<String>> {
        let path = self.at(relative)?;
        if self.folders().open(&path)?.is_none() {
            return Ok(Vec::new());
        }
        self.listed(&path)
    }

    /// Returns the names in a folder whose path was already checked.
    fn listed(&self, path: &Path) -> Result<Vec<String>> {
        let failed = |error| disk::failed("read", path, error);
        let listing = match fs::read_dir(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            listing => listing.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in listing.take(ENTRIES) {
            names.extend(entry.map_err(failed)?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns whether the path is a folder and not a link.
    pub fn is_folder(&self, relative: &str) -> Result<bool> {
        let path = self.at(relative)?;
        let mut folders = self.folders();
        let Some((folder, name)) = folders.holding(&path)? else { return Ok(false) };
        Ok(folder.entry(name)?.is_some_and(|entry| entry.kind == Kind::Folder))
    }

    /// Writes a file under a temporary name and renames it, replacing an existing file. Creates missing parent
    /// folders.
    pub fn write(&self, relative: &str, bytes: &[u8]) -> Result<()> {
        let path = self.at(relative)?;
        let mut folders = self.folders();
        if let Some(folder) = path.parent() {
            folders.make_all(folder)?;
        }
        let Some((folder, name)) = folders.holding(&path)? else {
            return Err(disk::failed("write", &path, ErrorKind::NotFound.into()));
        };
        let temporary = OsString::from(format!("{TEMPORARY}{}", mcpkg_base::clock::unique().simple()));
        folder.write_beside(name, &temporary, bytes, disk::FILE, None)?;
        folder.put_in_place(name, &temporary, false)?;
        folder.sync();
        Ok(())
    }

    /// Removes a file; a missing one is not an error.
    pub fn remove(&self, relative: &str) -> Result<()> {
        let path = self.at(relative)?;
        match self.folders().holding(&path)? {
            Some((folder, name)) => folder.remove(name),
            None => Ok(()),
        }
    }

    /// Removes temporary files from a folder; `""` is the registry's own folder. No other process may be writing to
    /// the folder.
    pub fn sweep(&self, relative: &str) -> Result<()> {
        let path = if relative.is_empty() { self.path.clone() } else { self.at(relative)? };
        let Some(folder) = self.folders().open(&path)? else { return Ok(()) };
        let begun = |name: &String| name.starts_with(TEMPORARY);
        self.listed(&path)?.iter().filter(|name| begun(name)).try_for_each(|name| folder.remove(name.as_ref()))
    }

    /// Renames the folder `from` to `to`, which must not exist. Creates missing parent folders.
    pub fn put_folder(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (self.at(from)?, self.at(to)?);
        let above = to.parent().unwrap_or(&self.path);
        self.folders().make_all(above)?;
        fs::rename(&from, &to).map_err(|error| disk::failed("write", &to, error))?;
        disk::sync_folder(above);
        Ok(())
    }

    /// Removes a folder and its contents; failures are only logged.
    pub fn remove_folder(&self, relative: &str) {
        let removed = self.at(relative).map(fs::remove_dir_all);
        if let Ok(Err(error)) = removed
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(registry = self.registry, relative, %error, "could not remove the folder of an unpublished version");
        }
    }

    /// Returns the error for a damaged registry.
    pub fn malformed(&self, why: impl std::fmt::Display) -> Error {
        Error::new(Code::RegistryAnswer, format!("Registry '{}' is damaged: {why}", self.registry))
    }

    fn folders(&self) -> Folders {
        Folders::below(vec![self.path.clone()])
    }

    /// Returns a path below the root. Refuses a path that leads out of it.
    fn at(&self, relative: &str) -> Result<PathBuf> {
        if stays_inside(relative) {
            return Ok(self.path.join(relative));
        }
        Err(Error::new(Code::InvalidPath, format!("`{}` is outside the registry's folder", relative.escape_debug())))
    }
}
