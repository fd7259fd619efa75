//! How large an archive may be.

/// The most bytes of an archive.
pub const MAX_PACKED: u64 = 50 << 20;

/// The most bytes of all its files.
pub const MAX_UNPACKED: u64 = 200 << 20;

/// The most bytes of one of its files.
pub const MAX_MEMBER: u64 = 64 << 20;

/// The most files and folders.
pub const MAX_MEMBERS: usize = 10_000;

/// How many times the size of the archive its files may have.
pub const MAX_RATIO: u64 = 100;
