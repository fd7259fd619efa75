//! How the file is opened.

/// How the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Writable,
    /// Reads only: the file or its folder cannot be written.
    ReadOnly,
    /// Read-only, and opened as unchanging: the folder cannot hold the files that readers share.
    Immutable,
    /// As [`Access::Immutable`], since the disk is too full for those files.
    Full,
}

impl Access {
    /// Whether SQLite would miss a change of the file by another process.
    pub(super) fn is_immutable(self) -> bool {
        matches!(self, Access::Immutable | Access::Full)
    }
}
