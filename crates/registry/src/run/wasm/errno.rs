//! The error numbers of WASI preview 1.

/// The error number of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub u16);

/// The result of a WASI call.
pub type Answer<T = ()> = Result<T, Errno>;

impl Errno {
    /// The descriptor is invalid or does not support the call.
    pub const BADF: Self = Self(8);
    /// The name already exists.
    pub const EXIST: Self = Self(20);
    /// The address is outside of the memory.
    pub const FAULT: Self = Self(21);
    /// The file would be too large.
    pub const FBIG: Self = Self(22);
    /// The bytes are not valid UTF-8.
    pub const ILSEQ: Self = Self(25);
    /// The argument is invalid.
    pub const INVAL: Self = Self(28);
    pub const IO: Self = Self(29);
    /// The path is a folder.
    pub const ISDIR: Self = Self(31);
    /// Too many files are open.
    pub const MFILE: Self = Self(33);
    /// The name or path is too long.
    pub const NAMETOOLONG: Self = Self(37);
    /// The file or folder does not exist.
    pub const NOENT: Self = Self(44);
    /// No space is left.
    pub const NOSPC: Self = Self(51);
    /// The call is not supported.
    pub const NOSYS: Self = Self(52);
    /// The path is not a folder.
    pub const NOTDIR: Self = Self(54);
    /// The folder is not empty.
    pub const NOTEMPTY: Self = Self(55);
    /// The file system is read-only.
    pub const ROFS: Self = Self(69);
    /// The descriptor does not support seeking.
    pub const SPIPE: Self = Self(70);
    /// The two paths are on different file systems.
    pub const XDEV: Self = Self(75);
    /// The path leads out of its base folder.
    pub const NOTCAPABLE: Self = Self(76);
}
