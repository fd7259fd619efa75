//! The lock of a workspace: one process at a time changes its repositories.
//!
//! It is a lock of the system on a file, so that it ends with its holder however that ends. Every git that changes a work
//! tree gets the open file as its standard input and holds the lock with it: where mcpkg is killed, the next one waits
//! until that git has ended.

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

/// How long the lock is waited for.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Between two looks whether it is free.
const PAUSE: Duration = Duration::from_millis(20);

/// The file that is locked, and the one that says what is not to be committed.
const LOCK_FILE: &str = "lock";
const IGNORE_FILE: &str = ".gitignore";

/// What of `.smctl` belongs to nobody's repository.
const IGNORED: &str = "lock\napplying\ntmp/\n";

/// The lock of a workspace, which is free again when the value is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of the workspace in `root`; `what` is what another process is told of its holder.
    ///
    /// # Errors
    /// `E_WORKSPACE_BUSY` after ten seconds, `E_CANCELLED`, `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn take(context: &Context, root: &Path, what: &str) -> Result<Self> {
        (context.step_aside)();
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(lock) = Self::try_take(root)? {
                return lock.told(&format!("{what}, started {}", rfc3339(context.clock.now())));
            }
            context.unless_cancelled()?;
            if Instant::now() >= until {
                return Err(busy(root));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes the lock where it is free.
    pub fn try_take(root: &Path) -> Result<Option<Self>> {
        let own = root.join(OWN);
        make_own(&own)?;
        let path = own.join(LOCK_FILE);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = match file {
            // Who failed to make a workspace here took its folder away between the two.
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

    /// Removes `.smctl` where nothing is in it but what taking the lock made: no workspace came of it. What cannot be removed stays.
    pub fn remove_own(self, root: &Path) {
        let own = root.join(OWN);
        let Ok(entries) = std::fs::read_dir(&own) else { return };
        let is_ours = |entry: std::io::Result<DirEntry>| {
            entry.is_ok_and(|entry| [IGNORE_FILE, LOCK_FILE, "tmp"].iter().any(|name| entry.file_name() == *name))
        };
        if !entries.into_iter().all(is_ours) {
            return;
        }
        // Whoever waits for the lock makes the list again before it opens the file, and takes none that has no name any more.
        let _ = std::fs::remove_dir(own.join("tmp"));
        let _ = std::fs::remove_file(own.join(IGNORE_FILE));
        let _ = std::fs::remove_file(own.join(LOCK_FILE));
        let _ = std::fs::remove_dir(&own);
    }

    /// The open file, for programs that hold the lock too.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn told(mut self, what: &str) -> Result<Self> {
        // Words for people; the lock itself is the system's.
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
        // A program that is just being started has the open file too, and closing it here would not be the end.
        let _ = self.file.unlock();
    }
}

/// Makes `.smctl` with a list of what of it is not to be committed.
fn make_own(own: &Path) -> Result<()> {
    if own.join(IGNORE_FILE).exists() {
        return Ok(());
    }
    std::fs::create_dir_all(own).map_err(|error| disk::failed("make", own, error))?;
    let path = own.join(IGNORE_FILE);
    std::fs::write(&path, IGNORED).map_err(|error| disk::failed("write", &path, error))
}

/// Returns the words of who holds the lock of a workspace, or `None` where nobody does. It is not waited for, and nothing
/// is written.
pub fn holder(root: &Path) -> Option<String> {
    let file = file::open(&root.join(OWN).join(LOCK_FILE)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(words(root)),
        _ => None,
    }
}

/// Returns what the last holder said of itself.
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
