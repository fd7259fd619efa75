//! Whether a file on disk may be overwritten.

use crate::plan::Drift;

/// Whether a file may be overwritten.
pub struct Safety {
    /// Whether only `adopt` overwrites it.
    pub adopt: bool,
    /// Whether somebody changed what mcpkg wrote.
    pub drifted: bool,
    /// In which way the disk differs.
    pub drift: Drift,
    /// Why it is changed, for people.
    pub reason: &'static str,
}

/// A file that mcpkg wrote and nobody changed.
pub const MANAGED: Safety =
    Safety { adopt: false, drifted: false, drift: Drift::UpstreamPending, reason: "content differs" };
/// A file that mcpkg did not write.
pub const FOREIGN: Safety =
    Safety { adopt: true, drifted: false, drift: Drift::Unmanaged, reason: "would overwrite unmanaged existing file" };
/// A file that mcpkg wrote and somebody changed.
pub const DRIFTED: Safety =
    Safety { adopt: true, drifted: true, drift: Drift::UserModified, reason: "changed since it was deployed" };
/// A file that another source keeps.
pub const OTHERS: Safety = Safety {
    adopt: true,
    drifted: false,
    drift: Drift::Unmanaged,
    reason: "another project or repo deployed this file",
};
