//! Limits on the memory for a connection, a value and a statement.

/// The page cache of a pooled connection, in KiB.
pub(super) const POOLED_CACHE: i64 = 2 * 1024;

/// The page cache of a connection that reads all the time, in KiB.
pub(super) const READER_CACHE: i64 = 16 * 1024;

/// The longest value or row in bytes. SQLite refuses longer ones in a file without reading them.
pub(super) const LONGEST: i32 = 256 << 20;

/// The longest statement in bytes. This includes statements in a file's schema.
pub(super) const LONGEST_SQL: i32 = 1 << 20;
