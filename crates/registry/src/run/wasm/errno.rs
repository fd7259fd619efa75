//! The numbers that WASI preview 1 answers failures with.

/// Why a call of a module's failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub u16);

/// What a call of a module's answers.
pub type Answer<T = ()> = Result<T, Errno>;

impl Errno {
    /// No such descriptor, or none that can do this.
    pub const BADF: Self = Self(8);
    /// There is one of this name already.
    pub const EXIST: Self = Self(20);
    /// An address outside of the memory.
    pub const FAULT: Self = Self(21);
    /// The file would be longer than a file may be.
    pub const FBIG: Self = Self(22);
    /// Bytes that are not UTF-8.
    pub const ILSEQ: Self = Self(25);
    /// An argument that means nothing.
    pub const INVAL: Self = Self(28);
    pub const IO: Self = Self(29);
    /// It is a folder.
    pub const ISDIR: Self = Self(31);
    /// Too many files are open.
    pub const MFILE: Self = Self(33);
    /// A name or path that is too long.
    pub const NAMETOOLONG: Self = Self(37);
    /// Nothing has this name.
    pub const NOENT: Self = Self(44);
    /// No space is left.
    pub const NOSPC: Self = Self(51);
    /// A call that this host does not have.
    pub const NOSYS: Self = Self(52);
    /// Not a folder.
    pub const NOTDIR: Self = Self(54);
    /// The folder is not empty.
    pub const NOTEMPTY: Self = Self(55);
    /// It may only be read.
    pub const ROFS: Self = Self(69);
    /// Only files can be sought in.
    pub const SPIPE: Self = Self(70);
    /// The two places are of different file systems.
    pub const XDEV: Self = Self(75);
    /// The path leads out of the folder that it is relative to.
    pub const NOTCAPABLE: Self = Self(76);
}
