//! The location of a database, for messages and records: a file, or the address of a server.

use std::fmt;
use std::path::Path;

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

    /// Returns the location of a server's database. `address` must not contain the password; `has_password` says
    /// whether the original address did.
    pub(super) fn of_server(address: &'s Path, has_password: bool) -> Self {
        Self { argument: address, is_file: false, has_password }
    }

    /// Returns the value for `--db` and `MCPKG_DB`, without a password.
    pub fn argument(self) -> &'s Path {
        self.argument
    }

    /// Whether the address contained a password. If so, [`Location::argument`] may not be enough to connect.
    pub fn has_password(self) -> bool {
        self.has_password
    }

    /// Returns the absolute path of the file, with symlinks resolved; `None` for a server.
    pub fn file(self) -> Option<&'s Path> {
        self.is_file.then_some(self.argument)
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.argument.display().fmt(f)
    }
}
