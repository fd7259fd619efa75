//! Reads and writes an agent's file as a whole. A write fails if somebody changed the file since it was read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::config_file::{ConfigFile, Scope};
use crate::servers::document::Fault;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::platform;
use mcpkg_base::sha256;

/// The modes of new files and folders.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    file: u32,
    folder: u32,
}

impl Modes {
    /// Only the user may read the files, because some agents store keys next to the servers.
    pub const PRIVATE: Self = Self { file: 0o600, folder: 0o700 };
    /// Other users may read the files, because other people work on the project too.
    pub const SHARED: Self = Self { file: 0o644, folder: 0o755 };

    const fn of(scope: Scope) -> Self {
        match scope {
            Scope::User => Self::PRIVATE,
            Scope::Project => Self::SHARED,
        }
    }
}

/// An agent's file as mcpkg read it.
#[derive(Clone, Debug)]
pub struct FileText {
    /// The path at which the agent looks for the file.
    pub path: PathBuf,
    /// The path after following links.
    pub real: PathBuf,
    /// The text; `None` if the file does not exist.
    pub text: Option<String>,
    mode: u32,
    folders: Modes,
    read_only: bool,
}

impl FileText {
    /// Reads an agent's file. Follows links.
    ///
    /// # Errors
    /// `E_CLIENT_CONFIG_INVALID` if it is not a regular file or not UTF-8 text; a code of [`disk::failed`] if it
    /// cannot be read.
    pub fn of(config: &ConfigFile) -> Result<Self> {
        let path = config.path.as_path();
        let real = follow(path)?;
        let folders = Modes::of(config.scope);
        let metadata = match fs::metadata(&real) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    path: path.to_owned(),
                    real,
                    text: None,
                    mode: folders.file,
                    folders,
                    read_only: false,
                });
            }
            Err(error) => return Err(disk::failed("read", path, error)),
        };
        if !metadata.is_file() {
            return Err(invalid(path, &Fault::new("it is not a file")));
        }
        let text = String::from_utf8(disk::read(&real)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default()).into_owned();
            invalid(path, &Fault::at(&before, before.len(), "it is not UTF-8 text"))
        })?;
        let (mode, read_only) = (disk::mode(&metadata), metadata.permissions().readonly());
        Ok(Self { path: path.to_owned(), real, text: Some(text), mode, folders, read_only })
    }

    /// Returns the text; empty if the file does not exist.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Replaces the text of the file, or deletes the file for `None`. Returns the folders that were created for the
    /// file.
    ///
    /// # Errors
    /// `E_PLAN_CHANGED` if the file was changed since it was read; `E_IO_PERMISSION_DENIED` if it is read-only; a
    /// code of [`disk::failed`] if it cannot be written.
    pub fn replace(&self, text: Option<&str>) -> Result<Vec<PathBuf>> {
        if self.read_only {
            return Err(Error::new(Code::PermissionDenied, format!("`{}` is read-only", self.path.display()))
                .hint("make the file writable, or add the entry by hand: `mcpkg client show NAME` prints the entry"));
        }
        let folder = self.real.parent().unwrap_or(Path::new("/")).to_owned();
        let Some(text) = text else {
            self.check_unchanged()?;
            disk::remove(&self.real)?;
            disk::sync_folder(&folder);
            return Ok(Vec::new());
        };
        let made = make_folders(&folder, self.folders)?;
        let written = self.write(&folder, text);
        if written.is_err() {
            remove_folders(&made);
        }
        written.map(|()| made)
    }

    fn write(&self, folder: &Path, text: &str) -> Result<()> {
        let temporary = folder.join(format!(".mcpkg-{}", mcpkg_base::clock::unique().simple()));
        disk::write_beside(&self.real, &temporary, text.as_bytes(), self.mode)?;
        if let Err(error) = self.check_unchanged() {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        disk::put_in_place(&self.real, &temporary, self.text.is_none()).map_err(|error| match error.code() {
            Code::AlreadyExists => self.changed(),
            _ => error,
        })?;
        disk::sync_folder(folder);
        Ok(())
    }

    fn check_unchanged(&self) -> Result<()> {
        let now = match mcpkg_base::file::read(&self.real, mcpkg_base::file::TEXT) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(disk::failed("read", &self.path, error)),
        };
        if now.as_deref() == self.text.as_ref().map(String::as_bytes) { Ok(()) } else { Err(self.changed()) }
    }

    /// Returns the error for a file that another program has changed since mcpkg read it.
    pub fn changed(&self) -> Error {
        Error::new(
            Code::PlanChanged,
            format!("`{}` was changed in the meantime; nothing was written", self.path.display()),
        )
        .hint("run the command again")
    }

    /// Saves a copy of the file in `folder`, named after the hash of its content. Returns the path of the copy; `None`
    /// if there is no file to copy.
    pub fn back_up(&self, folder: &Path) -> Result<Option<PathBuf>> {
        let Some(text) = &self.text else { return Ok(None) };
        make_folders(folder, Modes::PRIVATE)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hash = hex::encode(&sha256::of(text.as_bytes())[..6]);
        let copy = folder.join(format!("{name}.{hash}"));
        if mcpkg_base::file::read(&copy, mcpkg_base::file::TEXT).is_ok_and(|kept| kept == text.as_bytes()) {
            return Ok(Some(copy));
        }
        let temporary = folder.join(format!(".mcpkg-{}", mcpkg_base::clock::unique().simple()));
        disk::write_beside(&copy, &temporary, text.as_bytes(), self.mode)?;
        disk::put_in_place(&copy, &temporary, false)?;
        disk::sync_folder(folder);
        Ok(Some(copy))
    }
}

/// Returns the error for an agent's file that is invalid. mcpkg leaves such a file unchanged.
pub fn invalid(path: &Path, fault: &Fault) -> Error {
    let at = fault.at.map_or(String::new(), |(line, column)| format!(" (line {line}, column {column})"));
    let mut details = json!({ "path": path.display().to_string(), "reason": fault.what });
    if let Some((line, column)) = fault.at {
        details["line"] = json!(line);
        details["column"] = json!(column);
    }
    Error::new(Code::ClientInvalid, format!("Cannot edit `{}`: {}{at}", path.display(), fault.what))
        .with_details(details)
        .hint("the file was left unchanged; fix the file and run the command again")
}

/// Returns the path of a file after following links, even if the last link points to a missing file.
fn follow(path: &Path) -> Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..40 {
        match fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.is_symlink() => {
                let to = fs::read_link(&at).map_err(|error| disk::failed("read", path, error))?;
                at = at.parent().unwrap_or(Path::new("/")).join(to);
            }
            _ => return Ok(at),
        }
    }
    Err(Error::new(Code::InvalidPath, format!("`{}` is a link to itself", path.display())))
}

/// Creates a folder and its missing parents. Returns the created folders, outermost first.
pub fn make_folders(folder: &Path, modes: Modes) -> Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    let mut made = Vec::new();
    for folder in missing {
        if let Err(error) = platform::folders(modes.folder).create(&folder)
            && !folder.is_dir()
        {
            remove_folders(&made);
            return Err(disk::failed("make", &folder, error));
        }
        made.push(folder);
    }
    Ok(made)
}

/// Removes the folders that [`make_folders`] created, innermost first, up to the first that is not empty.
pub fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
