//! Namespaces of tools, such as `alice` or `alice/utils`: the first segments of tool names.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use mcpkg_base::error::{Code, Error, Result};

/// The maximum number of segments. A tool's name has at most 8, and the last one is the tool's own.
const MAX_SEGMENTS: usize = 7;

/// The longest namespace, in bytes.
const MAX_LENGTH: usize = 150;

/// A namespace of tools, such as `alice` or `alice/utils`. It contains all tools whose names begin with it and a `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(String);

impl Namespace {
    /// Whether the tool with this name is in the namespace.
    pub fn covers(&self, tool: &str) -> bool {
        tool.strip_prefix(self.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Namespace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let segments: Vec<&str> = text.split('/').collect();
        let is_plain = |segment: &str| {
            !segment.is_empty() && segment.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'))
        };
        let good = text.len() <= MAX_LENGTH
            && segments.len() <= MAX_SEGMENTS
            && segments
                .iter()
                .enumerate()
                .all(|(at, segment)| is_plain(segment.strip_prefix('@').filter(|_| at == 0).unwrap_or(segment)));
        if good {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid tool namespace", text.escape_debug()))
            .hint("a namespace is the first part of tool names, such as alice or alice/utils"))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Namespace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_covers_whole_segments() {
        let covers = |namespace: &str, tool: &str| namespace.parse::<Namespace>().unwrap().covers(tool);
        assert!(covers("alice", "alice/weather") && covers("alice", "alice/utils/weather"));
        assert!(covers("@org/utils", "@org/utils/weather"));
        for (namespace, tool) in [
            ("alice", "alice"),
            ("alice", "alicex/weather"),
            ("alice/utils", "alice/utilsx/weather"),
            ("alice/utils", "alice/weather"),
            ("alice", "bob/alice/weather"),
        ] {
            assert!(!covers(namespace, tool), "{namespace} {tool}");
        }
    }

    #[test]
    fn a_text_that_begins_no_tool_name_is_not_a_namespace() {
        for bad in
            ["", "*", "alice/", "/alice", "a//b", "Alice", "a/@b", "..", "a b", &"a/".repeat(8), &"a".repeat(200)]
        {
            assert_eq!(bad.parse::<Namespace>().unwrap_err().code(), Code::InvalidArgument, "{bad}");
        }
    }
}
