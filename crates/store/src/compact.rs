//! Deletes old revisions and unused content, and returns the space to the disk.

use super::revisions::{self, Outdated};
use super::search::reserved;
use super::{Store, blobs, workflows};
use mcpkg_base::error::Result;

/// The maximum number of rows that one transaction deletes, so that other writers do not wait for long.
const AT_ONCE: u32 = 1000;

impl Store {
    /// Returns how many revisions are outdated.
    pub fn outdated_revisions(&self, outdated: Outdated) -> Result<u64> {
        self.read(|db| {
            db.allow_long();
            Ok(revisions::outdated(db, outdated)? + workflows::outdated(db, outdated)?)
        })
    }

    /// Deletes outdated revisions, a thousand per transaction. Returns how many were deleted.
    pub fn forget_revisions(&self, outdated: Outdated) -> Result<u64> {
        let mut forgotten = 0;
        for forget in [revisions::forget, workflows::forget] {
            loop {
                let deleted = self.write(|db| {
                    db.allow_long();
                    forget(db, outdated, AT_ONCE)
                })?;
                forgotten += deleted;
                if deleted < AT_ONCE.into() {
                    break;
                }
            }
        }
        Ok(forgotten)
    }

    /// Deletes content and indexed words that nothing refers to. On SQLite, also returns the free space in the file to
    /// the disk; while mcpkg rewrites the file, reads continue and writers wait. PostgreSQL reuses the space instead.
    ///
    /// # Errors
    /// `E_DISK_FULL` if there is no room for a second copy. Nothing is lost then.
    pub fn compact(&self) -> Result<()> {
        self.write(|db| {
            db.allow_long();
            blobs::sweep(db)?;
            reserved::sweep(db)
        })?;
        self.engine.compact()
    }

    /// Returns how many bytes of the database are unused.
    pub fn free(&self) -> Result<u64> {
        self.engine.free()
    }
}
