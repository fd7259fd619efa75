//! Locks on files next to the database, which end with the process that holds them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::files::{beside, unavailable};
use crate::engine::{Mode, Subject};
use mcpkg_base::error::Result;
use mcpkg_base::file;
use mcpkg_base::platform;

/// Takes the lock for creating or migrating the database at `path`.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = open_lock_file(&beside(path, ".lock"))?;
    file.lock().map_err(|error| unavailable(path, &error))?;
    Ok(file)
}

/// Opens a lock file, or creates it with mode 0600.
pub(super) fn open_lock_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    file::open_with(platform::with_mode(&mut options, 0o600), path).map_err(|error| unavailable(path, &error))
}

/// How often to try again to take a lock that is held, and the pause before each new attempt. Another process may hold
/// the lock for a few microseconds, only to check whether somebody else holds it.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(2);

/// A held lock file. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct FileLock {
    /// The path of the file, if the file is to be removed when the lock is released.
    path: Option<PathBuf>,
    file: File,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Remove the file while it is still locked. If another process then locks the removed file, it notices that
            // the file is gone.
            let _ = fs::remove_file(path);
        }
        // Closing the file would not be enough: a process that was just forked inherits the open file, and keeps it
        // locked until it runs its own program.
        let _ = self.file.unlock();
    }
}

/// Takes a lock of `database`. Returns `None` if a conflicting lock is held by another process, or by another thread of this
/// one.
pub(in crate::engine) fn take(database: &Path, subject: Subject, mode: Mode) -> Result<Option<FileLock>> {
    let path = beside(database, &subject.suffix());
    let mut looks = 0;
    loop {
        let file = open_lock_file(&path)?;
        let locked = match mode {
            Mode::Shared => file.try_lock_shared(),
            Mode::Exclusive => file.try_lock(),
        };
        match locked {
            // The previous holder has removed the file since it was opened here. Open it again, which creates a new
            // file.
            Ok(()) if file::is_gone(&file) => {}
            Ok(()) => return Ok(Some(FileLock { path: subject.is_one_of_many().then_some(path), file })),
            // This may be a process that only checks whether the lock is held.
            Err(TryLockError::WouldBlock) if looks < LOOKS && subject.is_one_of_many() => {
                looks += 1;
                thread::sleep(LOOK);
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(unavailable(&path, &error)),
        }
    }
}

/// Whether somebody holds a lock of `database` exclusively.
pub(in crate::engine) fn is_held(database: &Path, subject: Subject) -> bool {
    let path = beside(database, &subject.suffix());
    let Ok(file) = file::open_with(OpenOptions::new().read(true).write(true), &path) else { return false };
    // Check with a shared lock, so that two checks at once do not mistake each other for the holder.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
