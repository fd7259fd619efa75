//! Limits on the size of an archive.

/// The most bytes of an archive.
pub const MAX_PACKED: u64 = 50 << 20;

/// The most bytes of all files together.
pub const MAX_UNPACKED: u64 = 200 << 20;

/// The most bytes of one file.
pub const MAX_MEMBER: u64 = 64 << 20;

/// The most files and folders.
pub const MAX_MEMBERS: usize = 10_000;

/// How many times larger than the archive its unpacked files may be.
pub const MAX_RATIO: u64 = 100;
