//! Tool names: segments separated by `/`, such as `alice/utils/weather`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use mcpkg_base::error::{Code, Error, Result};

/// The maximum number of segments of a name.
const MAX_SEGMENTS: usize = 8;

/// The maximum length of a name in bytes. Folder registries use names as paths, so they cannot be arbitrarily long.
const MAX_NAME: usize = 200;

/// First segments that are reserved for mcpkg's own tools and for the URLs of registries.
pub const RESERVED: [&str; 4] = ["enact", "workflow", "versions", "search"];

/// The name of a tool: 1 to 8 segments of `a-z`, `0-9`, `_` and `-`; the first may begin with `@`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    pub fn parse(text: &str) -> Result<Self> {
        match wrong(text) {
            None => Ok(Self(text.to_owned())),
            Some(why) => {
                Err(Error::new(Code::InvalidArgument, format!("'{}' is not a tool name: {why}", text.escape_debug()))
                    .hint("a name has 2 to 8 segments of a-z, 0-9, - and _, such as alice/utils/weather"))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns whether registries accept the name. A tool whose name has only one segment can only be used by the path
    /// of its folder.
    pub fn is_publishable(&self) -> bool {
        self.0.contains('/')
    }
}

pub(super) fn wrong(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("it is empty".to_owned());
    }
    if text.len() > MAX_NAME {
        return Some(format!("it has more than {MAX_NAME} characters"));
    }
    let segments: Vec<&str> = text.split('/').collect();
    if segments.len() > MAX_SEGMENTS {
        return Some(format!("it has {} segments; the limit is {MAX_SEGMENTS}", segments.len()));
    }
    for (at, segment) in segments.iter().enumerate() {
        let rest = segment.strip_prefix('@').filter(|_| at == 0).unwrap_or(segment);
        if rest.is_empty() {
            return Some("a segment is empty".to_owned());
        }
        if let Some(odd) = rest.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '_' | '-')) {
            return Some(format!("it cannot contain '{}'", odd.escape_debug()));
        }
    }
    RESERVED
        .contains(&segments[0].trim_start_matches('@'))
        .then(|| format!("names that start with '{}' are reserved", segments[0]))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x18_names_have_up_to_eight_segments() {
        for good in ["weather", "a/b", "alice/utils/weather", "@alice/x_y/z-1", "a/b/c/d/e/f/g/h", "my/enact"] {
            assert_eq!(Name::parse(good).unwrap().as_str(), good);
        }
        assert!(!Name::parse("weather").unwrap().is_publishable());
        assert!(Name::parse("a/b").unwrap().is_publishable());
        assert_eq!(Name::parse("@a/b/c").unwrap().segments().collect::<Vec<_>>(), ["@a", "b", "c"]);
    }

    #[test]
    fn x60_a_name_is_never_a_path_elsewhere() {
        for bad in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            "..",
            "a/..",
            "../a",
            "a/.",
            "a\\b",
            "a%2eb",
            "a\0b",
            "A/b",
            "a b/c",
            "ü/a",
            "a/@b",
            "@",
            "@/a",
            "a/b@1",
            "a/b:c",
            "a/b/c/d/e/f/g/h/i",
        ] {
            let error = Name::parse(bad).expect_err(bad);
            assert_eq!(error.code(), Code::InvalidArgument);
        }
        assert!(Name::parse(&"a".repeat(201)).is_err());
    }

    #[test]
    fn x45_names_of_our_own_tools_are_reserved() {
        for bad in ["enact/search", "enact", "@enact/x", "workflow/a", "versions/a", "search/a"] {
            assert!(Name::parse(bad).unwrap_err().message().contains("reserved"), "{bad}");
        }
    }
}
