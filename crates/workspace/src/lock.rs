//! Locks a workspace, so that only one process at a time changes its repositories.
//!
//! The lock is the operating system's lock on a file, so it is released even if mcpkg is killed. Each git process that
//! changes a work tree gets the open file as its standard input, and so shares the lock. If mcpkg is killed while git
//! runs, the next mcpkg waits until git has ended.

use std::fs::{DirEntry, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use super::names::OWN;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_core::op::Context;

/// The maximum time to wait for the lock.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two attempts to take the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The names of the lock file and of the file that lists what git should ignore.
const LOCK_FILE: &str = "lock";
const IGNORE_FILE: &str = ".gitignore";

/// The entries of `.smctl` that must not be committed.
const IGNORED: &str = "lock\napplying\ntmp/\n";

/// Holds the lock of a workspace until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of the workspace in `root`. Other processes that want the lock report `what` as the command that
    /// has it. Fails with `E_WORKSPACE_BUSY` after ten seconds.
    pub fn take(context: &Context, root: &Path, what: &str) -> Result<Self> {
        (context.step_aside)();
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(lock) = Self::try_take(root)? {
                return lock.note_holder(&format!("{what}, started {}", rfc3339(context.clock.now())));
            }
            context.unless_cancelled()?;
            if Instant::now() >= until {
                return Err(busy(root));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes the lock if it is free.
    pub fn try_take(root: &Path) -> Result<Option<Self>> {
        let own = root.join(OWN);
        make_own(&own)?;
        let path = own.join(LOCK_FILE);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = match file {
            // Another process has removed the folder in between, because its attempt to create a workspace here failed.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| disk::failed("open", &path, error))?,
        };
        match file.try_lock() {
            Ok(()) if file::is_gone(&file) => Ok(None),
            Ok(()) => {
                make_own(&own)?;
                Ok(Some(Self { file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(disk::failed("lock", &path, error)),
        }
    }

    /// Removes `.smctl` after the creation of a workspace has failed, unless it holds more than the files that taking
    /// the lock created. Ignores failures.
    pub fn remove_own(self, root: &Path) {
        let own = root.join(OWN);
        let Ok(entries) = std::fs::read_dir(&own) else { return };
        let is_ours = |entry: std::io::Result<DirEntry>| {
            entry.is_ok_and(|entry| [IGNORE_FILE, LOCK_FILE, "tmp"].iter().any(|name| entry.file_name() == *name))
        };
        if !entries.into_iter().all(is_ours) {
            return;
        }
        // The order matters: a waiting process creates the ignore file before it opens the lock file, and rejects a
        // deleted lock file.
        let _ = std::fs::remove_dir(own.join("tmp"));
        let _ = std::fs::remove_file(own.join(IGNORE_FILE));
        let _ = std::fs::remove_file(own.join(LOCK_FILE));
        let _ = std::fs::remove_dir(&own);
    }

    /// Returns the open file, for child processes that should share the lock.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn note_holder(mut self, what: &str) -> Result<Self> {
        // This text only informs people. The actual lock is the operating system's.
        let written =
            self.file.set_len(0).and_then(|()| self.file.rewind()).and_then(|()| writeln!(self.file, "{what}"));
        match written {
            Ok(()) => Ok(self),
            Err(error) => Err(Error::file("write", Path::new(".smctl/lock"), error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Unlock explicitly: a child process that is just starting also has the file open, so closing it would not
        // release the lock.
        let _ = self.file.unlock();
    }
}

/// Creates `.smctl` with a list of entries that git should ignore.
fn make_own(own: &Path) -> Result<()> {
    if own.join(IGNORE_FILE).exists() {
        return Ok(());
    }
    std::fs::create_dir_all(own).map_err(|error| disk::failed("make", own, error))?;
    let path = own.join(IGNORE_FILE);
    std::fs::write(&path, IGNORED).map_err(|error| disk::failed("write", &path, error))
}

/// Returns what the process that holds the lock is doing; `None` if the lock is free. Does not wait or write anything.
pub fn holder(root: &Path) -> Option<String> {
    let file = file::open(&root.join(OWN).join(LOCK_FILE)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(words(root)),
        _ => None,
    }
}

/// Returns the text in the lock file.
fn words(root: &Path) -> String {
    let words = file::read_text(&root.join(OWN).join(LOCK_FILE), 1_000).unwrap_or_default();
    words.trim().to_owned()
}

fn busy(root: &Path) -> Error {
    let holder = words(root);
    Error::new(
        Code::WorkspaceBusy,
        format!("Another mcpkg process is working in the workspace `{}`: {holder}", root.display()),
    )
    .with_details(serde_json::json!({ "holder": holder, "root": root.display().to_string() }))
    .hint("try again when that process has ended")
}
