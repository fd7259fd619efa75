//! The user's disk: inspects paths, and writes files so that they are complete or absent.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Code, Error, Result};
use crate::file;

pub use folder::Stat;

pub mod attributes;
pub mod fetching;
pub mod folder;
pub mod folders;
pub mod listings;

/// The SHA-256 of some bytes.
pub type Sha = [u8; 32];

/// The mode of a file that is made new.
pub const FILE: u32 = 0o644;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Absent,
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Their SHA-256.
        sha256: Sha,
        mode: u32,
    },
    /// A symbolic link with its text.
    Link(String),
    /// A folder, or something else that is not a file.
    Other,
}

impl Found {
    /// The bytes of a file.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Found::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// The SHA-256 of a file.
    pub fn sha256(&self) -> Option<&Sha> {
        match self {
            Found::File { sha256, .. } => Some(sha256),
            _ => None,
        }
    }
}

/// Returns the user's home folder.
///
/// # Errors
/// `E_ROOT_REQUIRED` where it is not known.
pub fn home() -> Result<PathBuf> {
    std::env::home_dir()
        .filter(|home| home.is_absolute())
        .ok_or_else(|| Error::new(Code::RootRequired, "Cannot find your home folder: HOME is not set").hint("set HOME"))
}

/// Returns the SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Sha {
    Sha256::digest(bytes).into()
}

/// Returns what the disk says of a path, without following a link; `None` where nothing is there.
pub fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(failed("read", path, error)),
    }
}

/// Returns what is at a path, without following a link.
pub fn look(path: &Path) -> Result<Found> {
    let Some(metadata) = metadata(path)? else {
        return Ok(Found::Absent);
    };
    if metadata.is_symlink() {
        let text = fs::read_link(path).map_err(|error| failed("read", path, error))?;
        // A text that is not valid UTF-8 could not be brought back.
        return Ok(text.into_os_string().into_string().map_or(Found::Other, Found::Link));
    }
    if !metadata.is_file() {
        return Ok(Found::Other);
    }
    let bytes = read(path)?;
    Ok(Found::File { sha256: sha256(&bytes), bytes, mode: mode(&metadata) })
}

/// Returns the bytes of a file, through a link.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    file::read(path, file::WHOLE).map_err(|error| failed("read", path, error))
}

/// The permission bits of a file.
#[cfg(unix)]
pub fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o7777
}

/// The permission bits of a file.
#[cfg(not(unix))]
pub fn mode(_: &Metadata) -> u32 {
    FILE
}

/// Returns `mode` with the bits that make a file a program, or without them.
pub const fn executable(mode: u32, executable: bool) -> u32 {
    if executable {
        // Whoever may read it may run it.
        mode | ((mode & 0o444) >> 2)
    } else {
        mode & !0o111
    }
}

/// Shows that a file was not touched since.
#[cfg(unix)]
pub fn stat(metadata: &Metadata) -> Option<Stat> {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Some(Stat {
        size: i64::try_from(metadata.size()).ok()?,
        mtime: nanos(metadata.mtime(), metadata.mtime_nsec()),
        ctime: nanos(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino().cast_signed(),
    })
}

/// Shows that a file was not touched since. Not supported on this system, so every file is read.
#[cfg(not(unix))]
pub fn stat(_: &Metadata) -> Option<Stat> {
    None
}

/// Whether a later change of the file would show in its times: they are older than the clock of the disk is coarse.
/// `now` is in milliseconds.
pub fn tells_changes(stat: &Stat, now: i64) -> bool {
    let age = now.saturating_mul(1_000_000).saturating_sub(stat.ctime.max(stat.mtime));
    // A disk that keeps whole seconds shows itself by them.
    let coarse = stat.ctime % 1_000_000_000 == 0 || stat.mtime % 1_000_000_000 == 0;
    age > if coarse { 3_000_000_000 } else { 20_000_000 }
}

/// Writes bytes as `temporary`, which is going to be `path`; they are on the disk when this returns.
pub fn write_beside(path: &Path, temporary: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let write = || {
        let mut file = open_new(temporary, mode)?;
        file.write_all(bytes)?;
        set_mode(&file, mode)?;
        file.sync_data()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(temporary);
        failed("write", path, error)
    })
}

/// Writes a file again that may be lost or cut off with the power, or with the process.
pub fn write_unsynced(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    remove(path)?;
    open_new(path, mode).and_then(|mut file| file.write_all(bytes)).map_err(|error| failed("write", path, error))
}

/// Writes a file that a user named, under a temporary name first, so that a crash leaves either the old or the new
/// content.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.mcpkg-{}", crate::clock::unique().simple()));
    write_beside(path, &temporary, bytes, FILE)?;
    put_in_place(path, &temporary, false)
}

/// Moves a file from its temporary name to its place; with `new`, an existing file is not replaced. It is durable once
/// the folder is synced too ([`sync_folder`]).
///
/// # Errors
/// `E_ALREADY_EXISTS` where `new` and something is there.
pub fn put_in_place(path: &Path, temporary: &Path, new: bool) -> Result<()> {
    let put = || {
        if new {
            // A link, unlike a rename, never replaces.
            match fs::hard_link(temporary, path) {
                Ok(()) => return fs::remove_file(temporary),
                // A disk without links: what appears in this very moment would be replaced.
                Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {}
                Err(error) => return Err(error),
            }
        }
        fs::rename(temporary, path)
    };
    put().map_err(|error| {
        let _ = fs::remove_file(temporary);
        if error.kind() == ErrorKind::AlreadyExists {
            return Error::new(Code::AlreadyExists, format!("`{}` was created in the meantime", path.display()));
        }
        failed("write", path, error)
    })
}

#[cfg(unix)]
fn open_new(path: &Path, mode: u32) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Never wider than it will be, not even for a moment.
    fs::OpenOptions::new().write(true).create_new(true).mode(mode & 0o777).open(path)
}

#[cfg(not(unix))]
fn open_new(path: &Path, _: u32) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn set_mode(file: &fs::File, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &fs::File, _: u32) -> std::io::Result<()> {
    Ok(())
}

/// Makes a folder that only the user may enter, and the folders above it; an existing one is left unchanged.
pub fn make_private(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder).map_err(|error| failed("make", folder, error))
}

/// Makes a symbolic link under a temporary name and moves it to `path`.
pub fn link(path: &Path, temporary: &Path, text: &str) -> Result<()> {
    let linked = symlink(text, temporary).and_then(|()| fs::rename(temporary, path));
    linked.map_err(|error| {
        let _ = fs::remove_file(temporary);
        failed("write", path, error)
    })
}

#[cfg(unix)]
fn symlink(text: &str, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(text, path)
}

#[cfg(not(unix))]
fn symlink(_: &str, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::from(ErrorKind::Unsupported))
}

/// Removes a file or a link; one that is gone is not a failure.
pub fn remove(path: &Path) -> Result<()> {
    use ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        // Nothing can be there.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename) => Ok(()),
        // A disk that cannot be written says so even where nothing is to be removed.
        Err(_) if matches!(metadata(path), Ok(None)) => Ok(()),
        Err(error) => Err(failed("delete", path, error)),
    }
}

/// Puts a folder's entries on the disk.
pub fn sync_folder(path: &Path) {
    // Not every file system can; the files themselves are synced.
    if let Ok(folder) = fs::File::open(path) {
        let _ = folder.sync_all();
    }
}

/// A lock on a folder; it ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct FolderLock {
    folder: Option<fs::File>,
}

impl FolderLock {
    /// Whether the system holds the lock: there are systems and disks that lock no folders.
    pub fn is_held(&self) -> bool {
        self.folder.is_some()
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A process that is just being started has the open file too, and closing it here would not be the end.
        let _ = self.folder.as_ref().map(fs::File::unlock);
    }
}

/// Locks a folder, and waits if another process has the lock. Does nothing if the system or the disk cannot lock
/// folders.
pub fn hold_folder(path: &Path) -> FolderLock {
    FolderLock { folder: fs::File::open(path).ok().filter(|folder| folder.lock().is_ok()) }
}

/// Locks a folder; `None` where another process has the lock. A system or a disk that cannot lock folders locks nothing.
pub fn lock_folder(path: &Path) -> Option<FolderLock> {
    let Ok(folder) = fs::File::open(path) else { return Some(FolderLock { folder: None }) };
    match folder.try_lock() {
        Ok(()) => Some(FolderLock { folder: Some(folder) }),
        Err(fs::TryLockError::WouldBlock) => None,
        Err(fs::TryLockError::Error(_)) => Some(FolderLock { folder: None }),
    }
}

/// Returns the failure of reading or writing a file of the user's, with the code that contract 000 gives it.
pub fn failed(verb: &str, path: &Path, source: std::io::Error) -> Error {
    let (code, hint) = match source.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            (Code::PermissionDenied, "make the file or folder and its parent folder writable")
        }
        ErrorKind::InvalidFilename if path.as_os_str().len() > 200 => (Code::PathTooLong, "shorten the path"),
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput | ErrorKind::NotADirectory => {
            (Code::InvalidPath, "choose another name, or move the file or folder that is in the way")
        }
        _ => return Error::file(verb, path, source),
    };
    let details = serde_json::json!({
        "path": path.display().to_string(),
        "path_posix": posix(path),
        "io_kind": source.kind().to_string(),
        "raw_os_error": source.raw_os_error(),
        "hint": hint,
    });
    Error::new(code, format!("Cannot {verb} `{}`: {source}", path.display()))
        .with_details(details)
        .hint(hint)
        .with_source(source)
}

/// A path with `/` between its parts.
pub fn posix(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Finds where folders really are, each looked at once. They are known by their texts: comparing paths part by part costs more.
#[derive(Debug, Default)]
pub struct RealFolders(HashMap<OsString, PathBuf>);

impl RealFolders {
    /// Returns where `folder` really is: links above it are followed, `..` leads up from where they lead, and what does not exist
    /// yet stays as it is.
    pub fn of(&mut self, folder: &Path) -> PathBuf {
        if let Some(real) = self.0.get(folder.as_os_str()) {
            return real.clone();
        }
        let real = match (folder.parent(), folder.components().next_back()) {
            (Some(parent), Some(Component::Normal(name))) => {
                let here = self.of(parent).join(name);
                match fs::symlink_metadata(&here) {
                    Ok(metadata) if metadata.is_symlink() => here.canonicalize().unwrap_or(here),
                    _ => here,
                }
            }
            (Some(parent), Some(Component::ParentDir)) if folder.is_absolute() => {
                let mut above = self.of(parent);
                above.pop();
                above
            }
            _ => folder.to_owned(),
        };
        self.0.insert(folder.into(), real.clone());
        real
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_can_be_run_by_who_can_read_them() {
        assert_eq!(executable(0o644, true), 0o755);
        assert_eq!(executable(0o600, true), 0o700);
        assert_eq!(executable(0o755, false), 0o644);
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_where_links_and_dots_lead() {
        let scratch = tempfile::tempdir().expect("a folder");
        let top = scratch.path().canonicalize().expect("a path");
        fs::create_dir_all(top.join("a/b")).expect("folders");
        std::os::unix::fs::symlink("a/b", top.join("link")).expect("a link");
        for (path, real) in [
            ("a/b", "a/b"),
            ("link", "a/b"),
            ("a/..", ""),
            ("a/../x", "x"),
            ("a/b/../../x/y", "x/y"),
            // As the disk resolves it: up from the target of the link.
            ("link/../x", "a/x"),
            ("none/../x", "x"),
        ] {
            let real = if real.is_empty() { top.clone() } else { top.join(real) };
            assert_eq!(RealFolders::default().of(&top.join(path)), real, "{path}");
        }
        assert_eq!(RealFolders::default().of(Path::new("/../../x")), Path::new("/x"));
    }

    #[test]
    fn times_tell_a_change_once_they_are_old_enough() {
        let stat = Stat { size: 1, mtime: 5_000_000_001, ctime: 5_000_000_001, inode: 1 };
        assert!(!tells_changes(&stat, 5_010));
        assert!(tells_changes(&stat, 5_030));
        let coarse = Stat { ctime: 5_000_000_000, ..stat };
        assert!(!tells_changes(&coarse, 7_000));
        assert!(tells_changes(&coarse, 9_000));
    }
}
