//! Limits on the size of an archive.

/// The maximum size of an archive in bytes.
pub const MAX_PACKED: u64 = 50 << 20;

/// The maximum size of all files together in bytes.
pub const MAX_UNPACKED: u64 = 200 << 20;

/// The maximum size of one file in bytes.
pub const MAX_MEMBER: u64 = 64 << 20;

/// The maximum number of files and folders.
pub const MAX_MEMBERS: usize = 10_000;

/// How many times larger than the archive its unpacked files may be.
pub const MAX_RATIO: u64 = 100;
