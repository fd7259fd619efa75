//! Compares an install with the versions that its registry had when it was last asked.

use semver::Version;

use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::tools::installs::Install;
use mcpkg_store::tools::packages::{self, Yank};

/// The result of comparing an install with its registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The newest version that is not yanked, if it is newer than the installed one.
    pub newer: Option<Version>,
    /// The yank of the installed version, with its reason.
    pub yank: Option<Yank>,
}

/// Compares an install with the last known versions in its registry, without asking the registry again.
///
/// Pre-releases are considered if `pre` is set or the installed version is one.
pub fn standing(db: &Db<'_>, install: &Install, pre: bool) -> Result<Standing> {
    let rows = packages::versions(db, &install.registry, &install.name)?;
    let yank = rows.iter().find(|row| row.release.version == install.version).and_then(|row| row.release.yank.clone());
    let sound = rows.iter().filter(|row| row.release.yank.is_none());
    let versions = sound.filter_map(|row| row.release.version.parse::<Version>().ok());
    Ok(Standing { newer: newest(&install.version, versions, pre), yank })
}

/// Returns the highest version, if it is higher than `here`.
fn newest(here: &str, versions: impl Iterator<Item = Version>, pre: bool) -> Option<Version> {
    let here: Version = here.parse().ok()?;
    let pre = takes_pre(&here, pre);
    versions.filter(|version| pre || version.pre.is_empty()).max().filter(|newest| *newest > here)
}

/// Returns whether a pre-release may replace this version.
pub fn takes_pre(here: &Version, pre: bool) -> bool {
    pre || !here.pre.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x57_a_newer_version_is_found_by_semver() {
        let of = |here: &str, versions: &[&str], pre| {
            let versions = versions.iter().map(|version| version.parse().expect("a version"));
            newest(here, versions, pre).map(|version| version.to_string())
        };
        assert_eq!(of("1.9.0", &["1.10.0", "1.2.0"], false).as_deref(), Some("1.10.0"));
        assert_eq!(of("1.10.0", &["1.9.0", "1.10.0"], false), None);
        assert_eq!(of("1.0.0", &["2.0.0-rc.1"], false), None);
        assert_eq!(of("1.0.0", &["2.0.0-rc.1"], true).as_deref(), Some("2.0.0-rc.1"));
        assert_eq!(of("2.0.0-rc.2", &["2.0.0-rc.10", "1.0.0"], false).as_deref(), Some("2.0.0-rc.10"));
        assert_eq!(of("no version", &["1.0.0"], false), None);
    }
}
