//! Parses the reference to a tool, with optional version and action, such as `alice/pdf@^1.2:extract`.

use std::fmt;
use std::str::FromStr;

use super::name::Name;
use super::version::Wanted;
use mcpkg_base::error::{Code, Error, Result};

/// A reference to a tool, a version and an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub name: Name,
    pub version: Wanted,
    pub action: Option<String>,
}

impl Reference {
    /// Reads `NAME[@VERSION][:ACTION]` or `NAME:ACTION@VERSION`.
    pub fn parse(text: &str) -> Result<Self> {
        // Skip the first character: it may be the `@` that starts a name.
        let first = text.char_indices().skip(1).find(|(_, c)| matches!(c, '@' | ':'));
        let (name, rest) = text.split_at(first.map_or(text.len(), |(at, _)| at));
        let name = Name::parse(name)?;
        let (version, action) = match (rest.strip_prefix('@'), rest.strip_prefix(':')) {
            (Some(rest), _) => match rest.split_once(':') {
                Some((version, action)) => (Some(version), Some(action)),
                None => (Some(rest), None),
            },
            (_, Some(rest)) => match rest.split_once('@') {
                Some((action, version)) => (Some(version), Some(action)),
                None => (None, Some(rest)),
            },
            (None, None) => (None, None),
        };
        if let Some(action) = action.filter(|action| !is_action(action)) {
            let what = format!("Invalid action name '{}' in '{}'", action.escape_debug(), text.escape_debug());
            return Err(Error::new(Code::InvalidArgument, what).hint("write NAME@VERSION:ACTION"));
        }
        let version = version.map_or(Ok(Wanted::Latest), Wanted::parse)?;
        Ok(Self { name, version, action: action.map(str::to_owned) })
    }
}

/// The maximum length of an action's name in bytes.
const MAX_ACTION: usize = 64;

/// Returns whether a text is a valid action name: 1 to 64 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`.
pub fn is_action(text: &str) -> bool {
    (1..=MAX_ACTION).contains(&text.len())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if self.version != Wanted::Latest {
            write!(f, "@{}", self.version)?;
        }
        self.action.as_ref().map_or(Ok(()), |action| write!(f, ":{action}"))
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x44_name_version_and_action_are_told_apart() {
        for (text, name, version, action) in [
            ("a/b", "a/b", "latest", None),
            ("a/b@1.0.0", "a/b", "1.0.0", None),
            ("@a/b@1.0.0", "@a/b", "1.0.0", None),
            ("@a/b", "@a/b", "latest", None),
            ("a/b:run", "a/b", "latest", Some("run")),
            ("a/b@^1.2:run", "a/b", "^1.2", Some("run")),
            ("a/b:run@1.0.0-rc.1+x", "a/b", "1.0.0-rc.1+x", Some("run")),
            ("a/b@>=1, <2", "a/b", ">=1, <2", None),
            ("a/b@latest:x", "a/b", "latest", Some("x")),
        ] {
            let read = Reference::parse(text).unwrap();
            assert_eq!(read.name.as_str(), name, "{text}");
            assert_eq!(read.version.to_string(), version, "{text}");
            assert_eq!(read.action.as_deref(), action, "{text}");
            assert_eq!(Reference::parse(&read.to_string()).unwrap(), read);
        }
        for bad in ["", "a/b@", "a/b:", "a/b:x@", "a/b:x:y", "a/b@1@2", "a/b@1.0.0/../..", "a/b:x/y", "a/b@v1"] {
            assert!(Reference::parse(bad).is_err(), "{bad}");
        }
    }
}
