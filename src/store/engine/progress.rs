//! How far long work is.

/// Told how many pages are done, and of how many.
pub type Progress<'a> = dyn Fn(u64, u64) + 'a;
