//! The location of a database.

use std::fmt;
use std::path::Path;

/// The location of a database, for messages and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'s> {
    argument: &'s Path,
    is_file: bool,
    has_password: bool,
}

impl<'s> Location<'s> {
    pub(super) fn of_file(path: &'s Path) -> Self {
        Self { argument: path, is_file: true, has_password: false }
    }

    /// `has_password` where a password stood in the address, which `address` is without.
    pub(super) fn of_server(address: &'s Path, has_password: bool) -> Self {
        Self { argument: address, is_file: false, has_password }
    }

    /// Returns what `--db` and `MCPKG_DB` name it by; without a password.
    pub fn argument(self) -> &'s Path {
        self.argument
    }

    /// Whether a password stood in what named it, so that [`Location::argument`] alone may not do.
    pub fn has_password(self) -> bool {
        self.has_password
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
