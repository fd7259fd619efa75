//! Limits on the memory for a connection, a value and a statement.

/// The page cache of a pooled connection, in KiB.
pub(super) const POOLED_CACHE: i64 = 2 * 1024;

/// The page cache of a connection that reads all the time, in KiB.
pub(super) const READER_CACHE: i64 = 16 * 1024;

/// The longest value or row in bytes. A longer one in a file is refused without reading it.
pub(super) const LONGEST: i32 = 256 << 20;

/// The longest statement in bytes, including those of the schema in a file.
pub(super) const LONGEST_SQL: i32 = 1 << 20;
