//! Describes whether mcpkg may overwrite a file on disk.

use crate::plan::Drift;

pub struct Safety {
    /// Whether overwriting the file needs `adopt`.
    pub adopt: bool,
    /// Whether the file was changed since mcpkg wrote it.
    pub drifted: bool,
    /// Why the disk differs from the desired state.
    pub drift: Drift,
    /// The reason for the change, for people.
    pub reason: &'static str,
}

/// A file that mcpkg wrote and nobody changed.
pub const MANAGED: Safety =
    Safety { adopt: false, drifted: false, drift: Drift::UpstreamPending, reason: "content differs" };
/// A file that mcpkg did not write.
pub const FOREIGN: Safety =
    Safety { adopt: true, drifted: false, drift: Drift::Unmanaged, reason: "would overwrite unmanaged existing file" };
/// A file whose text mcpkg has imported. The deploy keeps the text and only adds mcpkg's block.
pub const WITH_BLOCK: Safety =
    Safety { adopt: false, reason: "adds a block to your file; your own text stays", ..FOREIGN };
/// A file that mcpkg wrote and somebody changed.
pub const DRIFTED: Safety =
    Safety { adopt: true, drifted: true, drift: Drift::UserModified, reason: "changed since it was deployed" };
/// A file that another source manages.
pub const OTHERS: Safety = Safety {
    adopt: true,
    drifted: false,
    drift: Drift::Unmanaged,
    reason: "another project or repo deployed this file",
};
