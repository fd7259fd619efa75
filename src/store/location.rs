//! Where a database is.

use std::fmt;
use std::path::Path;

/// Where a database is, to be named in messages and in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'s>(&'s Path);

impl<'s> Location<'s> {
    pub(super) fn of_file(path: &'s Path) -> Self {
        Self(path)
    }

    /// Returns what `--db` and `MCPKG_DB` name it by.
    pub fn argument(self) -> &'s Path {
        self.0
    }

    /// Returns the file on this machine that it is, where it is one: absolute, links followed.
    pub fn file(self) -> Option<&'s Path> {
        Some(self.0)
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}
