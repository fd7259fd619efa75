//! Parses versions and finds the tags that name them.

use semver::Version;
use serde_json::json;

use super::look::Seen;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::refs::Ref;

/// Parses the version in a release's name: strict semantic versioning, without a `v`.
///
/// # Errors
/// `E_INVALID_ARGUMENT`, with the correct spelling if mcpkg can guess it.
pub fn read(text: &str) -> Result<Version> {
    Version::parse(text).map_err(|error| {
        let refused =
            Error::new(Code::InvalidArgument, format!("`{}` is not a semantic version: {error}", text.escape_debug()));
        match text.strip_prefix(['v', 'V']).filter(|rest| Version::parse(rest).is_ok()) {
            Some(rest) => refused.hint(format!("write `{rest}`; mcpkg adds the tag prefix itself")),
            None => refused.hint("a version is MAJOR.MINOR.PATCH, such as 1.0.0 or 2.0.0-rc.1"),
        }
    })
}

/// Returns the tagged versions and their tags, the highest last.
pub fn tagged<'r>(refs: &'r [Ref], prefix: &str) -> Vec<(Version, &'r Ref)> {
    let version = |tag: &'r Ref| {
        let name = tag.name.strip_prefix("refs/tags/")?.strip_prefix(prefix)?;
        Some((Version::parse(name).ok()?, tag))
    };
    let mut versions: Vec<_> = refs.iter().filter_map(version).collect();
    versions.sort_by(|a, b| a.0.cmp(&b.0));
    versions
}

/// Returns the version of a hotfix: its name if that is a version, otherwise the patch version after the highest
/// version, or 0.0.1 if there is no version yet.
pub fn of_hotfix(name: &str, highest: Option<&Version>) -> Version {
    Version::parse(name).unwrap_or_else(|_| match highest {
        Some(highest) => Version::new(highest.major, highest.minor, highest.patch + 1),
        None => Version::new(0, 0, 1),
    })
}

/// Refuses a tag that already exists in one of the repositories.
pub(super) fn refuse_taken(having: &[&Seen<'_>], tag: &str) -> Result<()> {
    let full = format!("refs/tags/{tag}");
    let taken: Vec<&str> =
        having.iter().filter(|seen| seen.find(&full).is_some()).map(|seen| seen.repo.name.as_str()).collect();
    if taken.is_empty() {
        return Ok(());
    }
    Err(Error::new(Code::TagExists, format!("{}: the tag `{tag}` already exists", taken.join(", ")))
        .with_details(json!({ "repos": taken, "tag": tag }))
        .hint("choose another version, or delete the tag if it was created by mistake"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_strict_and_a_leading_v_gets_a_hint() {
        assert!(read("1.0.0").is_ok() && read("2.0.0-rc.1+b").is_ok());
        let error = read("v1.2.3").unwrap_err();
        assert_eq!(error.hints(), ["write `1.2.3`; mcpkg adds the tag prefix itself"]);
        for bad in ["", "1", "1.0", "01.0.0", "-1.0.0", "1.0.0/../x"] {
            assert_eq!(read(bad).unwrap_err().code(), Code::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn a_hotfix_follows_the_highest_version() {
        let version = |text| Version::parse(text).unwrap();
        assert_eq!(of_hotfix("1.5.0", Some(&version("2.0.0"))), version("1.5.0"));
        assert_eq!(of_hotfix("crash", Some(&version("2.0.3"))), version("2.0.4"));
        assert_eq!(of_hotfix("crash", None), version("0.0.1"));
    }
}
