//! What the disk says of a name in a folder.

use crate::store::deploys::Stat;

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// Something else, such as a device.
    Other,
}

/// What the disk says of a name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its permission bits.
    pub mode: u32,
    /// What tells that it was not touched since, where the system has it.
    pub stat: Option<Stat>,
    /// The disk and the number on it: the same for all names of one file or folder.
    pub(super) identity: (u64, u64),
}
