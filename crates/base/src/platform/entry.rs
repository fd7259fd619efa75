//! Describes an entry of a folder: its kind, mode and identity.

/// File metadata that shows whether a file has changed since it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The size in bytes.
    pub size: i64,
    /// When the content last changed, in nanoseconds.
    pub mtime: i64,
    /// When the content or the metadata last changed, in nanoseconds.
    pub ctime: i64,
    /// The inode number.
    pub inode: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Link,
    Folder,
    /// Anything else, such as a device.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub mode: u32,
    /// Metadata to detect later changes, if the system supports that.
    pub stat: Option<Stat>,
    /// The device and the inode number, which are the same for all names of one file or folder. Both are 0 on
    /// Windows.
    pub identity: (u64, u64),
}
