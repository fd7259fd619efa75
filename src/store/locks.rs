//! Locks of the system beside the database: they end with the process that holds them, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use uuid::Uuid;

use super::Store;
use super::engine::Engine;
use super::engine::sqlite::{beside, open_lock_file, unavailable};
use crate::error::{Code, Error, Result};
use crate::file;

/// The presence of a server at a database; `restore` sees it. Dropping it, or the end of the process, takes it away.
pub struct Serving {
    _file: File,
}

impl Serving {
    /// Announces a server at the database of `path`.
    ///
    /// # Errors
    /// `E_DB_BUSY` while a restore runs.
    fn announce(path: &Path) -> Result<Self> {
        let file = open_lock_file(&beside(path, ".serving"))?;
        file.try_lock_shared().map_err(|_| {
            Error::new(Code::Busy, format!("The database `{}` is being restored", path.display()))
                .hint("start the server again when the restore is done")
        })?;
        Ok(Self { _file: file })
    }

    /// Keeps servers away while the returned guard lives; `None` where at least one is connected.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock file cannot be made.
    fn keep_away(path: &Path) -> Result<Option<Self>> {
        let file = open_lock_file(&beside(path, ".serving"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unavailable(path, &error)),
        }
    }
}

impl Store {
    /// Announces a server at this database; [`Store::keep_servers_away`] sees it while the returned guard lives.
    ///
    /// # Errors
    /// `E_DB_BUSY` while a restore runs, `E_DB_UNAVAILABLE` where the lock file cannot be made.
    pub fn announce(&self) -> Result<Serving> {
        Serving::announce(self.file())
    }

    /// Keeps servers away while the returned guard lives; `None` where at least one is connected.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock file cannot be made.
    pub fn keep_servers_away(&self) -> Result<Option<Serving>> {
        Serving::keep_away(self.file())
    }

    /// Takes the right to apply deploys of this database; `None` where another process, or another thread of this one,
    /// has it.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock file cannot be made.
    pub fn begin_apply(&self) -> Result<Option<Applying>> {
        Applying::begin(self.file())
    }

    /// The file beside which the locks stand.
    fn file(&self) -> &Path {
        let Engine::Sqlite(database) = &*self.engine;
        database.path()
    }
}

/// The right to apply a deploy: one process at a time has it. Dropping it, or the end of the process, gives it back.
pub struct Applying {
    file: File,
}

impl Drop for Applying {
    fn drop(&mut self) {
        // Closing alone leaves it locked for as long as a process that was just forked has not begun its program.
        let _ = self.file.unlock();
    }
}

impl Applying {
    /// Takes the right to apply deploys of the database of `path`; `None` where another process, or another thread of
    /// this one, has it.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock file cannot be made.
    fn begin(path: &Path) -> Result<Option<Self>> {
        let file = open_lock_file(&beside(path, ".applying"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unavailable(path, &error)),
        }
    }
}

/// The presence of a server that runs tasks. Dropping it, or the end of the process, takes it away: what it did not end
/// by then nobody will.
pub struct TaskRunner {
    id: Uuid,
    path: PathBuf,
    _file: File,
}

impl TaskRunner {
    /// The runner's id, which its tasks name.
    pub fn id(&self) -> Uuid {
        self.id
    }
}

impl Drop for TaskRunner {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Says that this process runs tasks from now on.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock file cannot be made.
    pub fn begin_tasks(&self) -> Result<TaskRunner> {
        let id = crate::clock::unique();
        let path = runner(self.file(), id);
        let file = open_lock_file(&path)?;
        file.try_lock().map_err(|error| unavailable(&path, &error.into()))?;
        Ok(TaskRunner { id, path, _file: file })
    }

    /// Whether the process that began to run tasks as `id` still lives; what one that was killed left is removed.
    pub fn runs_tasks(&self, id: Uuid) -> bool {
        let path = runner(self.file(), id);
        let Ok(file) = file::open_with(OpenOptions::new().read(true).write(true), &path) else { return false };
        match file.try_lock() {
            Ok(()) => {
                let _ = fs::remove_file(&path);
                false
            }
            Err(_) => true,
        }
    }
}

/// Returns where the lock of a runner of tasks stands.
fn runner(database: &Path, id: Uuid) -> PathBuf {
    beside(database, &format!(".tasks-{}", id.simple()))
}

/// How often a run's lock is tried, and the time between: a look at it takes microseconds.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(2);

/// The right to work on a run: one holder at a time has it. Dropping it, or the end of the process, gives it back.
#[derive(Debug)]
pub struct RunHolder {
    path: PathBuf,
    file: File,
}

impl Drop for RunHolder {
    fn drop(&mut self) {
        // While it is still held, so that nobody holds a file that is gone for longer than it takes to see that.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

impl Store {
    /// Takes the right to work on a run; `None` where another process, or another thread of this one, has it.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE`, `E_READ_ONLY`, `E_DISK_FULL` where the lock file cannot be made.
    pub fn hold_run(&self, run: Uuid) -> Result<Option<RunHolder>> {
        let path = run_lock(self.file(), run);
        let mut looks = 0;
        loop {
            let file = open_lock_file(&path)?;
            match file.try_lock() {
                // The holder before this one removed the file between the two: the next one would make it anew.
                Ok(()) if is_gone(&file) => {}
                Ok(()) => return Ok(Some(RunHolder { path, file })),
                // Perhaps no holder, but somebody who looks whether there is one.
                Err(TryLockError::WouldBlock) if looks < LOOKS => {
                    looks += 1;
                    thread::sleep(LOOK);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(unavailable(&path, &error)),
            }
        }
    }

    /// Whether somebody works on a run.
    pub fn is_held(&self, run: Uuid) -> bool {
        let path = run_lock(self.file(), run);
        let Ok(file) = file::open_with(OpenOptions::new().read(true).write(true), &path) else { return false };
        // A look is shared, so that two of them do not take each other for the holder.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

/// Returns where the lock of a run stands.
fn run_lock(database: &Path, run: Uuid) -> PathBuf {
    beside(database, &format!(".run-{}", run.simple()))
}

/// Whether a file has no name any more.
fn is_gone(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}
