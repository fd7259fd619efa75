//! Holds what every step needs while it is applied, such as the workspace's root and its lock.

use std::fs;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use mcpkg_base::git::Git;

/// The file in a clone's `.git` that contains the id of the run that made the clone.
pub const MARK: &str = "mcpkg-clone";

/// The folder, relative to the root, for files and folders that are being created or removed.
pub const TEMPORARY: &str = ".smctl/tmp";

/// The context in which steps are applied. Its creator holds the lock of the workspace.
#[derive(Clone, Copy)]
pub struct Carrier<'a> {
    pub root: &'a Path,
    /// The open lock file of the workspace.
    pub lock: &'a fs::File,
    /// Stops running git commands. It is never cancelled once a step has changed something.
    pub cancelled: &'a CancellationToken,
    /// The reflog message: `mcpkg: feature finish x`.
    pub message: &'a str,
}

/// A change that could not be reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub repo: String,
    /// A sentence about what could not be reverted, such as `develop has since been moved`.
    pub what: String,
}

impl<'a> Carrier<'a> {
    /// Returns git for a folder. Its processes inherit the lock, so the workspace stays locked while they run.
    pub fn git(&self, folder: &'a Path) -> Git<'a> {
        Git::of(folder, self.cancelled).holding(self.lock)
    }
}
