//! What the disk says of a name in a folder.

/// The facts that show that a file was not changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes.
    pub size: i64,
    /// When its bytes changed, in nanoseconds.
    pub mtime: i64,
    /// When anything of it changed, in nanoseconds.
    pub ctime: i64,
    /// Its number on the disk.
    pub inode: i64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Link,
    Folder,
    /// Something else, such as a device.
    Other,
}

/// An entry of a folder.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub mode: u32,
    /// Shows that it was not touched since, if the system supports that.
    pub stat: Option<Stat>,
    /// The disk and the number on it: the same for all names of one file or folder.
    pub(super) identity: (u64, u64),
}
