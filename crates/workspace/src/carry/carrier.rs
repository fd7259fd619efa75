//! Who carries steps out.

use std::fs;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use mcpkg_base::git::Git;

/// The file in a clone's `.git` that tells which change it is of.
pub const MARK: &str = "mcpkg-clone";

/// Where what is made or removed stands beside its place for a while, below the root.
pub const TEMPORARY: &str = ".smctl/tmp";

/// Who carries steps out: whoever holds the lock of a workspace.
#[derive(Clone, Copy)]
pub struct Carrier<'a> {
    /// The root of the workspace.
    pub root: &'a Path,
    /// The file that holds its lock.
    pub lock: &'a fs::File,
    /// Ends a git before it ends by itself; never cancelled once something moved.
    pub cancelled: &'a CancellationToken,
    /// What the logs of refs say, such as `mcpkg: feature finish x`.
    pub message: &'a str,
}

/// What a step that was to be taken back did not give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub repo: String,
    /// What stayed, and why.
    pub what: String,
}

impl<'a> Carrier<'a> {
    /// Returns git in a folder, which holds the lock of the workspace while it runs.
    pub fn git(&self, folder: &'a Path) -> Git<'a> {
        Git::of(folder, self.cancelled).holding(self.lock)
    }
}
