//! The variables that a program gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variables that are passed on unless the caller says otherwise; all that begin with `LC_` are too.
const ALLOWED: &[&str] = &["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// The variables that no program on Windows does without.
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

/// Which variables a program gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Those of a short list that nearly every program needs, none of which holds a secret.
    Allowed,
    /// Those of this process without mcpkg's own: for programs that the user configures by variables, such as git.
    Inherited,
    /// Those of this process, except those that begin with one of these: for the user's own programs.
    Without(&'static [&'static str]),
    /// Those of this process, all of them: for what a person works with at the terminal.
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

/// Returns whether a program gets the variable `name` where nothing else is said: one that holds no secret.
pub fn is_passed_on(name: &str) -> bool {
    is_allowed(OsStr::new(name))
}

fn is_allowed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        ALLOWED.contains(&name) || name.starts_with("LC_") || (cfg!(windows) && is_needed_on_windows(name))
    })
}

/// Returns whether `name` is one of [`WINDOWS`], in whatever case.
pub fn is_needed_on_windows(name: &str) -> bool {
    WINDOWS.iter().any(|known| known.eq_ignore_ascii_case(name))
}
