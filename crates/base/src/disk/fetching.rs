//! Creates temporary folders in a cache, for fetching commits and laying out files.
//!
//! A killed fetch leaves its folder behind, and the next fetch removes it. Each fetch holds a system lock, which shows
//! whether it is still running.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The name prefix of the temporary folders.
const PREFIX: &str = ".fetching-";

/// The name of the lock file in the cache. The lock is held while a folder is created and locked, and while old folders
/// are swept, so that a sweep never finds a folder without its lock.
const MAKING: &str = ".fetching.lock";

/// A temporary folder, removed when dropped.
pub struct Fetching {
    folder: tempfile::TempDir,
    lock: PathBuf,
    _held: File,
}

impl Fetching {
    /// Creates a temporary folder in `of_url`, which is a folder in `cache`. Also removes folders that killed fetches
    /// left in the cache.
    pub fn begin(cache: &Path, of_url: &Path) -> Result<Self> {
        fs::create_dir_all(of_url).map_err(|error| Error::file("write", of_url, error))?;
        let making = open_lock(&cache.join(MAKING))?;
        making.lock().map_err(|error| Error::file("lock", cache, error))?;
        sweep(cache);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(of_url);
        let folder = folder.map_err(|error| Error::file("write", of_url, error))?;
        let lock = lock_of(folder.path());
        let held = open_lock(&lock)?;
        held.lock().map_err(|error| Error::file("lock", &lock, error))?;
        Ok(Self { folder, lock, _held: held })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock);
    }
}

/// Returns the path of a folder's lock file. The lock file is next to the folder, because files in the folder may have
/// any name.
fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension("lock")
}

fn open_lock(path: &Path) -> Result<File> {
    let opened = File::options().create(true).truncate(false).write(true).open(path);
    opened.map_err(|error| Error::file("lock", path, error))
}

/// Removes the folders of fetches that have ended, with their locks. The next fetch tries again to remove folders that
/// cannot be removed now.
fn sweep(cache: &Path) {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries(cache).filter(|path| path.is_dir()).flat_map(|of_url| entries(&of_url)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) || !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            continue;
        }
        let lock = lock_of(&path);
        let is_over = open_lock(&lock).is_ok_and(|file| file.try_lock().is_ok());
        if is_over && fs::remove_dir_all(&path).is_ok() {
            let _ = fs::remove_file(&lock);
            tracing::info!(folder = %path.display(), "removed the remains of a killed fetch");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_fetch_is_cleaned_up_and_a_running_one_is_kept() {
        let cache = tempfile::tempdir().unwrap();
        let (one, other) = (cache.path().join("one"), cache.path().join("other"));
        let killed = one.join(".fetching-abc123");
        fs::create_dir_all(killed.join("full/.git")).unwrap();
        fs::write(killed.with_extension("lock"), "").unwrap();
        fs::create_dir_all(one.join("0123")).unwrap();
        let running = Fetching::begin(cache.path(), &other).unwrap();
        assert!(!killed.exists() && !killed.with_extension("lock").exists() && one.join("0123").is_dir());
        let second = Fetching::begin(cache.path(), &other).unwrap();
        assert!(running.path().is_dir() && second.path().is_dir());
        let (path, lock) = (second.path().to_owned(), second.lock.clone());
        assert!(lock.exists());
        drop(second);
        assert!(!path.exists() && !lock.exists() && running.path().is_dir());
    }
}
