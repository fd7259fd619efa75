//! How much memory a connection, a value and a statement may take.

/// Page cache of a pooled connection, in KiB.
pub(super) const POOLED_CACHE: i64 = 2 * 1024;

/// Page cache of a connection that reads all the time, in KiB.
pub(super) const READER_CACHE: i64 = 16 * 1024;

/// Bytes of the longest value or row; longer ones of a file are refused without reading them.
pub(super) const LONGEST: i32 = 256 << 20;

/// Bytes of the longest statement, those that make the tables of a file too.
pub(super) const LONGEST_SQL: i32 = 1 << 20;
