//! Finds out which version of git is installed.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::json;

use super::command::run;
use crate::error::{Code, Error, Result};
use crate::process::Limits;

/// A release of git, such as 2.47.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// The oldest release with `merge-tree --write-tree`, which merges without changing a work tree.
    pub const OLDEST: Version = Version(2, 38);

    /// The first release that can read attributes from a tree.
    pub const ATTRIBUTES_OF_TREE: Version = Version(2, 41);

    /// Parses the output of `git version`. Vendors may append text.
    fn parse(printed: &str) -> Option<Self> {
        let mut numbers = printed.trim().strip_prefix("git version ")?.split('.');
        Some(Self(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Returns the version of the installed git. Runs git only once.
pub fn version(limits: &Limits<'_>) -> Result<Version> {
    static VERSION: OnceLock<Version> = OnceLock::new();
    if let Some(version) = VERSION.get() {
        return Ok(*version);
    }
    let printed = run(Path::new("."), &["version"], limits)?;
    let printed = String::from_utf8_lossy(&printed);
    let version = Version::parse(&printed).ok_or_else(|| {
        let message = format!("git version: the output `{}` does not contain a version", printed.trim());
        Error::new(Code::GitFailed, message)
    })?;
    Ok(*VERSION.get_or_init(|| version))
}

/// Returns the version of the installed git; fails if it is older than [`Version::OLDEST`].
pub fn required(limits: &Limits<'_>) -> Result<Version> {
    let found = version(limits)?;
    if found < Version::OLDEST {
        let message = format!("git {} or newer is required, but {found} is installed", Version::OLDEST);
        let details = json!({ "found": found.to_string(), "required": Version::OLDEST.to_string() });
        return Err(Error::new(Code::GitTooOld, message).with_details(details).hint("install a newer git"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        for (printed, version) in [
            ("git version 2.47.3\n", Version(2, 47)),
            ("git version 2.39.5 (Apple Git-154)\n", Version(2, 39)),
            ("git version 2.50.0.windows.1\n", Version(2, 50)),
            ("git version 3.0-rc1", Version(3, 0)),
        ] {
            let read = Version::parse(printed);
            assert_eq!(read, Some(version).filter(|_| !printed.contains("rc")), "{printed}");
        }
        assert_eq!(Version::parse("hub version 2.14"), None);
        assert!(Version(2, 9) < Version::OLDEST && Version(3, 0) > Version::ATTRIBUTES_OF_TREE);
    }
}
