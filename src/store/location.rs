//! Where a database is.

use std::fmt;
use std::path::Path;

/// Where a database is, to be named in messages and in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'s> {
    argument: &'s Path,
    is_file: bool,
}

impl<'s> Location<'s> {
    pub(super) fn of_file(path: &'s Path) -> Self {
        Self { argument: path, is_file: true }
    }

    pub(super) fn of_server(address: &'s Path) -> Self {
        Self { argument: address, is_file: false }
    }

    /// Returns what `--db` and `MCPKG_DB` name it by; without a password.
    pub fn argument(self) -> &'s Path {
        self.argument
    }

    /// Returns the file on this machine that it is, where it is one: absolute, links followed.
    pub fn file(self) -> Option<&'s Path> {
        self.is_file.then_some(self.argument)
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.argument.display().fmt(f)
    }
}
