//! How the file is opened.

/// How the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads and writes.
    Writable,
    /// Reads only: the file or its folder cannot be written.
    ReadOnly,
    /// Reads only, as if nobody could change the file: its folder cannot hold the files that readers share.
    Immutable,
    /// As [`Access::Immutable`], since the disk is too full for those files.
    Full,
}

impl Access {
    /// Whether a change of the file by somebody else would go unnoticed by SQLite.
    pub(super) fn is_immutable(self) -> bool {
        matches!(self, Access::Immutable | Access::Full)
    }
}
