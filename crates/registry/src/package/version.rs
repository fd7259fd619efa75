//! Parses version requirements, and chooses the best of the available versions.

use std::fmt;
use std::str::FromStr;

use semver::{Version, VersionReq};

use mcpkg_base::error::{Code, Error, Result};

/// A version requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Latest,
    Exact(Version),
    /// The highest version in a range such as `^1.2`.
    Range(VersionReq),
}

/// The maximum length of a version or a range in bytes.
const MAX_VERSION: usize = 100;

impl Wanted {
    /// Parses an exact version, a range or `latest`.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if text.len() <= MAX_VERSION && !text.is_empty() {
            if let Ok(version) = Version::parse(text) {
                return Ok(Self::Exact(version));
            }
            if let Ok(range) = VersionReq::parse(text) {
                return Ok(Self::Range(range));
            }
        }
        Err(Error::new(Code::InvalidArgument, format!("'{}' is neither a version nor a range", text.escape_debug()))
            .hint("use a version such as 1.2.0, a range such as ^1.2, or `latest`"))
    }

    /// Returns the highest of the `available` versions that matches; the caller leaves out yanked versions. A
    /// pre-release matches if it is named exactly, or if the range names a pre-release of the same version. With `pre`,
    /// a pre-release also matches where its final release would.
    pub fn choose<'a>(&self, available: impl IntoIterator<Item = &'a Version>, pre: bool) -> Option<&'a Version> {
        available.into_iter().filter(|version| self.takes(version, pre)).max()
    }

    fn takes(&self, version: &Version, pre: bool) -> bool {
        match self {
            Self::Latest => pre || version.pre.is_empty(),
            Self::Exact(exact) => exact == version,
            Self::Range(range) if pre && !version.pre.is_empty() => {
                let released = Version::new(version.major, version.minor, version.patch);
                range.matches(version) || range.matches(&released)
            }
            Self::Range(range) => range.matches(version),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Exact(version) => version.fmt(f),
            Self::Range(range) => range.fmt(f),
        }
    }
}

impl FromStr for Wanted {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wanted: &str, pre: bool) -> Option<String> {
        let available = ["1.9.0", "1.10.0", "2.0.0-rc.1", "0.3.0", "1.2.0-beta"].map(|v| Version::parse(v).unwrap());
        Wanted::parse(wanted).unwrap().choose(&available, pre).map(Version::to_string)
    }

    #[test]
    fn x57_the_highest_version_is_chosen_and_pre_releases_only_on_request() {
        assert_eq!(chosen("latest", false).as_deref(), Some("1.10.0"));
        assert_eq!(chosen("latest", true).as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(chosen("^1.2", false).as_deref(), Some("1.10.0"));
        assert_eq!(chosen("<1", false).as_deref(), Some("0.3.0"));
        assert_eq!(chosen("^2", false), None);
        assert_eq!(chosen("^2", true).as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(chosen("<2", true).as_deref(), Some("1.10.0"), "`<2` takes no pre-release of 2.0.0");
        assert_eq!(chosen("^2.0.0-rc.0", false).as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(chosen("1", true).as_deref(), Some("1.10.0"));
    }

    #[test]
    fn x46_an_exact_version_is_that_one() {
        assert_eq!(chosen("1.9.0", false).as_deref(), Some("1.9.0"));
        assert_eq!(chosen("2.0.0-rc.1", false).as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(chosen("1.9.1", false), None);
    }

    #[test]
    fn an_invalid_version_is_refused() {
        for bad in ["", "v1", "1.x.y.z", "..", "1.0.0/..", &format!("1.0.0-{}", "a".repeat(100))] {
            assert!(Wanted::parse(bad).is_err(), "{bad}");
        }
    }
}
