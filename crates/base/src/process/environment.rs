//! Selects the environment variables for a program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::platform::IS_WINDOWS;

/// The variables that are passed on by default, in addition to all that start with `LC_`.
const ALLOWED: &[&str] = &["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// The variables that every program on Windows needs.
const WINDOWS: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// Selects the variables that a program gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// A short list of variables that nearly every program needs and that contain no secrets.
    Allowed,
    /// All variables of this process except mcpkg's own. For programs that users configure through variables, such as
    /// git.
    Inherited,
    /// All variables of this process except those with one of these prefixes. For the user's own programs.
    Without(&'static [&'static str]),
    /// All variables of this process. For programs that a person works with at the terminal.
    Whole,
    Exactly(BTreeMap<OsString, OsString>),
}

impl Environment {
    /// Returns the variables with their values.
    pub(super) fn variables(self) -> BTreeMap<OsString, OsString> {
        let without: &[&str] = match self {
            Environment::Allowed => return std::env::vars_os().filter(|(name, _)| is_allowed(name)).collect(),
            Environment::Inherited => &["MCPKG_"],
            Environment::Without(prefixes) => prefixes,
            Environment::Whole => &[],
            Environment::Exactly(variables) => return variables,
        };
        let is_left_out = |name: &OsStr| {
            let name = name.as_encoded_bytes();
            without.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
        };
        std::env::vars_os().filter(|(name, _)| !is_left_out(name)).collect()
    }
}

/// Whether the variable `name` is passed on by default. Such variables contain no secrets.
pub fn is_passed_on(name: &str) -> bool {
    is_allowed(OsStr::new(name))
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        ALLOWED.contains(&name) || name.starts_with("LC_") || (IS_WINDOWS && is_needed_on_windows(name))
    })
}

/// Whether `name` is one of [`WINDOWS`], ignoring case.
pub fn is_needed_on_windows(name: &str) -> bool {
    WINDOWS.iter().any(|known| known.eq_ignore_ascii_case(name))
}
