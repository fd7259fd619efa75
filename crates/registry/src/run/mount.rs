//! Describes the mounts of a sandbox: the files and folders that a running tool sees.

use std::path::PathBuf;

/// The path of the tool's own files.
pub const WORKSPACE: &str = "/workspace";

/// The read-only path of the tool's files during a build, while [`WORKSPACE`] is a writable copy.
pub const PACKAGE: &str = "/run/package";

/// The folder where a tool writes files for its caller.
pub const OUTPUT: &str = "/output";

/// The path of mcpkg's own program, which sets the limits inside the sandbox.
pub const STARTER: &str = "/run/mcpkg";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// A file or folder of the host, read-only.
    Read {
        /// The path on the host.
        from: PathBuf,
        /// The path in the sandbox.
        at: PathBuf,
    },
    /// A writable file or folder of the host, which a person allowed.
    Write {
        /// The path on the host.
        from: PathBuf,
        /// The path in the sandbox.
        at: PathBuf,
    },
    Link {
        /// The target of the link.
        to: PathBuf,
        at: PathBuf,
    },
}

impl Mount {
    /// Returns a read-only mount.
    pub fn read(from: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self::Read { from: from.into(), at: at.into() }
    }
}
