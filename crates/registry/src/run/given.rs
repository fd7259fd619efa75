//! The folder of a run's input: arguments that are too long for a command line, and files that its runner creates.
//!
//! It holds what a caller sent, so that one which a killed run left goes with the next process that runs a tool. Whether a run still
//! lasts is told by a lock on the folder itself, which the system holds for the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use tempfile::TempDir;

use super::call::{Call, Content};
use mcpkg_base::disk::{self, FolderLock};
use mcpkg_base::error::{Error, Result};

/// How the folders begin.
const PREFIX: &str = "mcpkg-run-";

/// How often another folder is made where a sweep took the one before.
const TRIES: usize = 8;

/// What killed runs left is looked for once in each process.
static SWEPT: Once = Once::new();

/// Files that were made for one run, and where the sandbox has them.
#[derive(Debug)]
pub struct CallFiles {
    /// `None` where none was needed.
    folder: Option<Folder>,
    /// Where each file is on this machine, and where the tool finds it.
    pub given: Vec<(PathBuf, PathBuf)>,
}

impl CallFiles {
    /// Writes what a call is given into a folder that this user alone reads; it goes away with the value. With `needs_scratch` there is
    /// a folder where nothing is written too.
    ///
    /// # Errors
    /// `E_NOT_FOUND` for a file of the user's that is not there.
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
                Content::Path(path) => fs::canonicalize(path).map_err(|error| Error::file("read", path, error))?,
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
    /// `None` where a sweep has it.
    _held: Option<FolderLock>,
}

impl Folder {
    fn make(parent: &Path) -> Result<Self> {
        let failed = |error| Error::file("make", parent, error);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(failed)?;
            let held = disk::lock_folder(folder.path());
            // A sweep that came between found it unlocked, and removed it.
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

/// Removes this user's folders whose runs have ended. What cannot be removed stays for the next process.
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

/// Whether a path is a folder of this user's, and no link: others may put anything into a folder for temporary files.
#[cfg(unix)]
fn is_own_folder(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own)
}

#[cfg(not(unix))]
fn is_own_folder(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_all_else_is_let_be() {
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
