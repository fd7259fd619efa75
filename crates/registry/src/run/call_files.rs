//! The temporary folder for the inputs of a run: arguments that are too long for a command line, and files of the
//! runner.
//!
//! The folder contains data from the caller, so folders of killed runs are removed by the next process that runs a
//! tool. A lock on the folder shows whether its run is still active; the system releases the lock when the process
//! ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use tempfile::TempDir;

use super::call::{Call, Content};
use mcpkg_base::disk::{self, FolderLock};
use mcpkg_base::error::{Error, Result};

/// The prefix of the folders.
const PREFIX: &str = "mcpkg-run-";

/// How often to create another folder if a sweep removes the new one.
const TRIES: usize = 8;

/// Ensures that each process looks only once for folders of killed runs.
static SWEPT: Once = Once::new();

/// Files created for one run, and their paths in the sandbox.
#[derive(Debug)]
pub struct CallFiles {
    /// `None` if no folder was needed.
    folder: Option<Folder>,
    /// Each file's path on this machine and its path in the sandbox.
    pub given: Vec<(PathBuf, PathBuf)>,
}

impl CallFiles {
    /// Writes the inputs of a call into a folder that only this user can read, and that is removed on drop. With
    /// `needs_scratch`, the folder is created even if there are no inputs.
    ///
    /// # Errors
    /// `E_NOT_FOUND` for a missing file of the user, and the errors of writing files.
    pub fn of(call: &Call, needs_scratch: bool) -> Result<Self> {
        let parent = std::env::temp_dir();
        SWEPT.call_once(|| sweep(&parent));
        let is_written = call.given.iter().any(|given| matches!(given.content, Content::Bytes(_)));
        let folder = (needs_scratch || is_written).then(|| Folder::make(&parent)).transpose()?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.as_ref().map_or(Path::new(""), Folder::path).join(name);
            fs::write(&path, bytes).map_err(|error| Error::file("write", &path, error))?;
            Ok::<PathBuf, Error>(path)
        };
        let mut given = Vec::new();
        for (number, file) in call.given.iter().enumerate() {
            let from = match &file.content {
                Content::Bytes(bytes) => write(&format!("given-{number}"), bytes)?,
                Content::Path(path) => {
                    mcpkg_base::platform::real(path).map_err(|error| Error::file("read", path, error))?
                }
            };
            given.push((from, PathBuf::from(&file.at)));
        }
        Ok(Self { folder, given })
    }

    /// Returns the folder, for further files of a runner; an empty path if there is none.
    pub fn scratch(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), Folder::path)
    }
}

/// A folder with its lock; removed when dropped.
#[derive(Debug)]
struct Folder {
    folder: TempDir,
    /// Keeps the sweep of another process away from the folder.
    _held: Option<FolderLock>,
}

impl Folder {
    fn make(parent: &Path) -> Result<Self> {
        let failed = |error| Error::file("make", parent, error);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(failed)?;
            let held = disk::lock_folder(folder.path());
            // If the folder is gone or cannot be locked, a sweep removed it before it was locked: try again.
            if held.is_some() && folder.path().is_dir() {
                return Ok(Self { folder, _held: held });
            }
        }
        Err(failed(std::io::ErrorKind::NotFound.into()))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folders of ended runs. A folder that cannot be removed is left to the next process.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) || !is_own_folder(&path) {
            continue;
        }
        let lock = disk::lock_folder(&path).filter(FolderLock::is_held);
        if lock.is_some() && fs::remove_dir_all(&path).is_ok() {
            tracing::info!(folder = %path.display(), "removed the files of a killed run");
        }
    }
}

/// Returns whether a path is a real folder owned by this user. Other users can create files with the same prefix in
/// the system's temporary folder.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir() && mcpkg_base::platform::is_own(&metadata))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_runs_are_removed_and_everything_else_stays() {
        let parent = tempfile::tempdir().expect("a folder");
        let at = |name: &str| parent.path().join(name);
        let killed = at("mcpkg-run-killed");
        fs::create_dir_all(killed.join("left")).expect("a folder");
        fs::write(killed.join("given-0"), "a secret").expect("a file");
        let elsewhere = at("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        std::os::unix::fs::symlink(&elsewhere, at("mcpkg-run-link")).expect("a link");
        fs::write(at("mcpkg-run-file"), "").expect("a file");
        let running = Folder::make(parent.path()).expect("a folder");
        fs::write(running.path().join("given-0"), "").expect("a file");
        sweep(parent.path());
        assert!(!killed.exists());
        assert!(running.path().join("given-0").exists());
        assert!(elsewhere.is_dir() && at("mcpkg-run-link").exists() && at("mcpkg-run-file").exists());
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }

    #[test]
    fn runs_that_begin_while_others_sweep_keep_their_folders() {
        let parent = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let folder = Folder::make(parent.path()).expect("a folder");
                        assert!(folder.path().is_dir());
                        sweep(parent.path());
                        assert!(folder.path().is_dir());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).expect("a folder").count(), 0);
    }
}
