//! The kinds of access to a database file.

/// The way in which a database file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Writable,
    /// Read-only, because the file or its folder cannot be written.
    ReadOnly,
    /// Read-only and treated as unchanging, because SQLite cannot create the `-wal` and `-shm` files in the folder.
    Immutable,
    /// Like [`Access::Immutable`], because the disk is too full for the `-wal` and `-shm` files.
    Full,
}

impl Access {
    /// Whether SQLite would not notice that another process changed the file.
    pub(super) fn is_immutable(self) -> bool {
        matches!(self, Access::Immutable | Access::Full)
    }
}
