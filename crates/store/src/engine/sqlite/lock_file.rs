//! Lock files next to the database.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::files::{beside, unavailable};
use crate::engine::{Mode, Subject};
use mcpkg_base::error::Result;
use mcpkg_base::file;

/// Takes the right to make or to migrate the database at `path`.
pub(super) fn lock(path: &Path) -> Result<File> {
    let file = open_lock_file(&beside(path, ".lock"))?;
    file.lock().map_err(|error| unavailable(path, &error))?;
    Ok(file)
}

/// Opens a lock file, made with mode 0600 where it is not there.
pub(super) fn open_lock_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    file::open_with(&mut options, path).map_err(|error| unavailable(path, &error))
}

/// How often a lock is tried, and the time between: a look at it takes microseconds.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(2);

/// A lock file that is held.
#[derive(Debug)]
pub(crate) struct FileLock {
    /// Its path, if it is removed with the lock.
    path: Option<PathBuf>,
    file: File,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The file is removed while the lock is still held, so that nobody holds a removed file for longer than it takes to notice.
            let _ = fs::remove_file(path);
        }
        // Closing alone leaves it locked for as long as a process that was just forked has not begun its program.
        let _ = self.file.unlock();
    }
}

/// Takes a lock of `database`; `None` where another process, or another thread of this one, holds it and excludes that.
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
            // The previous holder removed the file in between; the next one would create it again.
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
    // A look is shared, so that two of them do not take each other for the holder.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}
