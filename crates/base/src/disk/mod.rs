//! Inspects paths on the user's disk, and writes files so that a crash leaves each of them either complete or as it
//! was. The exception is [`write_unsynced`].

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::{Code, Error, Result};
use crate::file;
use crate::platform::{self, IS_WINDOWS, folder as system};
use crate::sha256::{self, Sha};

pub use crate::platform::{mode, stat};
pub use folder::Stat;
pub use network::network_of;

pub mod attributes;
pub mod fetching;
pub mod folder;
pub mod folders;
pub mod listings;
mod network;
pub mod syncs;

/// The mode of a new file.
pub const FILE: u32 = 0o644;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    Absent,
    File {
        bytes: Vec<u8>,
        /// The SHA-256 of `bytes`.
        sha256: Sha,
        mode: u32,
    },
    /// A symbolic link with its target text.
    Link(String),
    /// A folder, a link whose target is not UTF-8, or something else that is not a regular file.
    Other,
}

impl PathState {
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            PathState::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    pub fn sha256(&self) -> Option<&Sha> {
        match self {
            PathState::File { sha256, .. } => Some(sha256),
            _ => None,
        }
    }
}

/// Returns the user's home folder.
///
/// # Errors
/// `E_ROOT_REQUIRED` if it is unknown.
pub fn home() -> Result<PathBuf> {
    std::env::home_dir()
        .filter(|home| home.is_absolute())
        .ok_or_else(|| Error::new(Code::RootRequired, "Cannot find your home folder: HOME is not set").hint("set HOME"))
}

/// Returns the metadata of a path, without following a link; `None` if it does not exist.
pub fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(failed("read", path, error)),
    }
}

/// Returns what is at a path, without following a link.
pub fn look(path: &Path) -> Result<PathState> {
    match metadata(path)? {
        Some(metadata) => look_at(path, &metadata, None),
        None => Ok(PathState::Absent),
    }
}

/// Like [`look`], for a path with known metadata. If the file has the bytes that are `expected`, their SHA-256 is not
/// computed again.
pub fn look_at(path: &Path, metadata: &Metadata, expected: Option<(&[u8], &Sha)>) -> Result<PathState> {
    if metadata.is_symlink() {
        let text = fs::read_link(path).map_err(|error| failed("read", path, error))?;
        // A link whose target is not valid UTF-8 could not be restored.
        return Ok(text.into_os_string().into_string().map_or(PathState::Other, PathState::Link));
    }
    if !metadata.is_file() {
        return Ok(PathState::Other);
    }
    let bytes = match file::read_directly(path, file::WHOLE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PathState::Absent),
        Err(error) => return Err(failed("read", path, error)),
    };
    let sha256 = match expected {
        Some((same, sha256)) if *same == *bytes => *sha256,
        _ => sha256::of(&bytes),
    };
    Ok(PathState::File { sha256, bytes, mode: mode(metadata) })
}

/// Reads a file. Follows links.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    file::read(path, file::WHOLE).map_err(|error| failed("read", path, error))
}

/// Returns `mode` with or without the bits that make a file executable.
pub const fn executable(mode: u32, executable: bool) -> u32 {
    if executable {
        // Everyone who may read the file may also execute it.
        mode | ((mode & 0o444) >> 2)
    } else {
        mode & !0o111
    }
}

/// Whether the next change to the file will certainly change its times. For this, they must be older than the
/// resolution of the file system's clock. `now` is in milliseconds.
pub fn tells_changes(stat: &Stat, now: i64) -> bool {
    let age = now.saturating_mul(1_000_000).saturating_sub(stat.ctime.max(stat.mtime));
    // Times in whole seconds suggest a file system whose clock counts only whole seconds.
    let coarse = stat.ctime % 1_000_000_000 == 0 || stat.mtime % 1_000_000_000 == 0;
    age > if coarse { 3_000_000_000 } else { 20_000_000 }
}

/// Writes the file `temporary`, which will later be renamed to `path`, and syncs it to disk.
pub fn write_beside(path: &Path, temporary: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let write = || {
        let mut file = platform::create_new(temporary, mode)?;
        file.write_all(bytes)?;
        platform::set_mode(&file, mode)?;
        file.sync_data()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(temporary);
        failed("write", path, error)
    })
}

/// Rewrites a file without syncing it, so that a power loss or a crash may leave it missing or truncated.
pub fn write_unsynced(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    remove(path)?;
    platform::create_new(path, mode)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|error| failed("write", path, error))
}

/// Writes a file that the user named. It is written under a temporary name first, so that a crash leaves either the old
/// or the new content.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.mcpkg-{}", crate::clock::unique().simple()));
    write_beside(path, &temporary, bytes, FILE)?;
    put_in_place(path, &temporary, false)
}

/// Moves a file to its final name from a temporary name in the same folder. With `new`, an existing file is not
/// replaced. The change survives a crash once the folder is synced too ([`sync_folder`]).
///
/// # Errors
/// `E_ALREADY_EXISTS` if `new` is set and the path is taken.
pub fn put_in_place(path: &Path, temporary: &Path, new: bool) -> Result<()> {
    let put = || {
        if !new {
            return fs::rename(temporary, path);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let handle = system::open_top(folder)?;
        let [from, to] = [temporary, path].map(|path| path.file_name().unwrap_or_default());
        system::put_new(&handle, folder, from, to)
    };
    put().map_err(|error| {
        let _ = fs::remove_file(temporary);
        if error.kind() == ErrorKind::AlreadyExists {
            return Error::new(Code::AlreadyExists, format!("`{}` was created in the meantime", path.display()));
        }
        failed("write", path, error)
    })
}

/// Creates a folder that only the user may enter, with its parents. An existing folder is left unchanged.
pub fn make_private(folder: &Path) -> Result<()> {
    platform::folders(0o700).recursive(true).create(folder).map_err(|error| failed("make", folder, error))
}

/// Creates a symbolic link under a temporary name and renames it to `path`.
pub fn link(path: &Path, temporary: &Path, text: &str) -> Result<()> {
    let linked = platform::symlink(text, temporary).and_then(|()| fs::rename(temporary, path));
    linked.map_err(|error| {
        let _ = fs::remove_file(temporary);
        failed("write", path, error)
    })
}

/// Removes a file or link. A missing file is not an error.
pub fn remove(path: &Path) -> Result<()> {
    use ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        // With these errors, no file can exist at the path.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename) => Ok(()),
        // A read-only disk reports an error even if there is nothing to remove.
        Err(_) if matches!(metadata(path), Ok(None)) => Ok(()),
        Err(error) => Err(failed("delete", path, error)),
    }
}

/// Syncs the names in a folder to disk.
pub fn sync_folder(path: &Path) {
    // Ignore failures: some file systems cannot sync folders, and the files themselves are synced.
    if let Ok(folder) = fs::File::open(path) {
        let _ = folder.sync_all();
    }
}

/// A lock on a folder, until the lock is dropped or the process ends.
#[derive(Debug)]
pub struct FolderLock {
    folder: Option<fs::File>,
}

impl FolderLock {
    /// Whether the folder is really locked. Some systems and disks cannot lock folders.
    pub fn is_held(&self) -> bool {
        self.folder.is_some()
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Unlock explicitly: a child process that is just starting also has the file open, so closing it would not
        // release the lock.
        let _ = self.folder.as_ref().map(fs::File::unlock);
    }
}

/// Locks a folder; waits while somebody else has the lock. Does nothing if the system or disk cannot lock folders.
pub fn hold_folder(path: &Path) -> FolderLock {
    FolderLock { folder: fs::File::open(path).ok().filter(|folder| folder.lock().is_ok()) }
}

/// Locks a folder; `None` if somebody else has the lock. Does not lock anything if the system or disk cannot lock
/// folders.
pub fn lock_folder(path: &Path) -> Option<FolderLock> {
    let Ok(folder) = fs::File::open(path) else { return Some(FolderLock { folder: None }) };
    match folder.try_lock() {
        Ok(()) => Some(FolderLock { folder: Some(folder) }),
        Err(fs::TryLockError::WouldBlock) => None,
        Err(fs::TryLockError::Error(_)) => Some(FolderLock { folder: None }),
    }
}

/// Returns whether somebody has locked a folder. Never true if the system or disk cannot lock folders. Takes a shared lock for
/// a moment, so that two processes that look at the same time do not take each other for the holder.
pub fn is_folder_locked(path: &Path) -> bool {
    let Ok(folder) = fs::File::open(path) else { return false };
    match folder.try_lock_shared() {
        Ok(()) => drop(FolderLock { folder: Some(folder) }),
        Err(fs::TryLockError::WouldBlock) => return true,
        Err(fs::TryLockError::Error(_)) => {}
    }
    false
}

/// Returns the error for failing to read or write a user's file, with the code that contract 000 (agentpack) requires.
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

/// Returns a path with `/` as the separator. On other systems than Windows, a backslash is a letter of a name.
pub fn posix(path: &Path) -> String {
    let text = path.to_string_lossy();
    if IS_WINDOWS { text.replace('\\', "/") } else { text.into_owned() }
}

/// Resolves the real paths of folders, each only once. The keys are texts, because comparing paths part by part is
/// slower.
#[derive(Debug, Default)]
pub struct RealFolders(HashMap<OsString, PathBuf>);

impl RealFolders {
    /// Returns the real path of `folder`. Links are followed first, then `..` goes up from their targets. Parts that do
    /// not exist yet stay as they are.
    pub fn of(&mut self, folder: &Path) -> PathBuf {
        if let Some(real) = self.0.get(folder.as_os_str()) {
            return real.clone();
        }
        let real = match (folder.parent(), folder.components().next_back()) {
            (Some(parent), Some(Component::Normal(name))) => {
                let here = self.of(parent).join(name);
                match fs::symlink_metadata(&here) {
                    Ok(metadata) if metadata.is_symlink() => crate::platform::real(&here).unwrap_or(here),
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
    fn executable_bits_follow_the_read_bits() {
        assert_eq!(executable(0o644, true), 0o755);
        assert_eq!(executable(0o600, true), 0o700);
        assert_eq!(executable(0o755, false), 0o644);
    }

    #[test]
    fn a_file_with_the_expected_bytes_is_not_hashed() {
        let scratch = tempfile::tempdir().expect("a folder");
        let path = scratch.path().join("file");
        fs::write(&path, "new").expect("a file");
        let metadata = metadata(&path).expect("it can be looked at").expect("it exists");
        let hash = |expected: &[u8]| {
            let found = look_at(&path, &metadata, Some((expected, &[7; 32]))).expect("a file");
            found.sha256().copied()
        };
        assert_eq!(hash(b"new"), Some([7; 32]));
        assert_eq!(hash(b"old"), Some(sha256::of("new")));
        fs::remove_file(&path).expect("it goes");
        assert_eq!(look_at(&path, &metadata, None).expect("nothing"), PathState::Absent);
    }

    #[cfg(unix)]
    #[test]
    fn real_folders_follow_links_and_double_dots() {
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
            // `..` goes up from the target of the link, as the system does it.
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
