//! The kinds of access to a database file: writable, read-only, immutable.

/// The way in which a database file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Writable,
    /// Read-only, because the file or its folder cannot be written.
    ReadOnly,
    /// Read-only and treated as unchanging, because the folder cannot hold the files that readers share.
    Immutable,
    /// Like [`Access::Immutable`], because the disk is too full for the files that readers share.
    Full,
}

impl Access {
    /// Whether SQLite would miss a change of the file by another process.
    pub(super) fn is_immutable(self) -> bool {
        matches!(self, Access::Immutable | Access::Full)
    }
}
