//! Backs up the database while it is in use, and restores it.

use std::path::{Path, PathBuf};

use super::{Db, Store};
use mcpkg_base::error::Result;

pub use super::engine::Progress;

impl Store {
    /// Writes a consistent copy of the database to `to` while others read and write. Returns the copy's size in bytes.
    ///
    /// 1. Read in one transaction, so that a busy writer cannot make the copy start over.
    /// 2. Write into a scratch folder next to the destination, with mode 0600.
    /// 3. Open the copy and check all of it.
    /// 4. Sync it to the disk, then rename it to its destination.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS` if `to` exists; `E_FILE_FAILED` and `E_DISK_FULL` if the copy cannot be written;
    /// `E_DB_CORRUPT` and `E_DAMAGED` if the check of the copy fails.
    pub fn backup(&self, to: &Path, progress: &Progress<'_>) -> Result<u64> {
        self.engine.backup(to, progress)
    }

    /// Replaces the content of the open database with the content of the backup at `from`, in one transaction, so that
    /// running servers see the result. Keeps the old content in a file at `kept`.
    ///
    /// 1. Check that the backup is a file of mcpkg, copy it into a scratch folder, migrate the copy, and check all of it.
    /// 2. Call `carry`, which writes into the copy the data of the replaced database that a restore must not lose.
    /// 3. Wait for the writers of the open database, keep a copy of it, and replace its content.
    pub fn restore(
        &self,
        from: &Path,
        kept: &Path,
        carry: impl FnOnce(&Db<'_>) -> Result<()>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        self.check_may_write()?;
        self.engine.restore(from, kept, carry, progress)
    }

    /// Refuses a file that cannot be restored: the database itself, or a file that is not a database of mcpkg.
    pub fn check_backup(&self, from: &Path) -> Result<()> {
        self.engine.check_backup(from)
    }

    /// Returns the path where a restore keeps the replaced database, with the time in its name. It is next to the
    /// database's file, or in the user's state directory if the database is on a server.
    pub fn kept_beside(&self, timestamp: &str) -> PathBuf {
        self.engine.kept_beside(timestamp)
    }
}
