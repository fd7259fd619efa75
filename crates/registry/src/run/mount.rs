//! Mounts: the files and folders that a running tool sees.

use std::path::PathBuf;

/// The place of a tool's own files.
pub const WORKSPACE: &str = "/workspace";

/// Where a tool's own files are for reading, while [`WORKSPACE`] is a copy of them that a build changes.
pub const PACKAGE: &str = "/run/package";

/// The folder where a tool writes files for its caller.
pub const OUTPUT: &str = "/output";

/// Where mcpkg's own program is, which sets the limits inside of the sandbox.
pub const STARTER: &str = "/run/mcpkg";

/// A mount in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// A file or folder of the host's, for reading.
    Read {
        /// Where it is on the host.
        from: PathBuf,
        /// Where it is inside.
        at: PathBuf,
    },
    /// A file or folder of the host's, for writing too: a person allowed it.
    Write {
        /// Where it is on the host.
        from: PathBuf,
        /// Where it is inside.
        at: PathBuf,
    },
    Link {
        /// What it leads to.
        to: PathBuf,
        at: PathBuf,
    },
}

impl Mount {
    /// Returns a file or folder of the host's, for reading.
    pub fn read(from: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self::Read { from: from.into(), at: at.into() }
    }
}
