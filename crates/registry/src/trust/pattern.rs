//! Matches patterns such as `alice/*` against tool names.

use crate::package::Name;
use mcpkg_base::error::{Code, Error, Result};

/// The maximum length of a pattern in bytes.
const LONGEST: usize = 255;

/// Returns whether a pattern matches a name. `*` stands for any number of characters, `/` included; other characters
/// stand for themselves.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // The position of the last `*`, and the end of the text that it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == name.get(n) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Refuses a pattern that cannot match any tool name.
pub fn check(pattern: &str) -> Result<()> {
    check_by(pattern, |_| true)
}

/// Refuses a pattern that cannot match the name of a published tool, since only published tools are signed.
pub fn check_published(pattern: &str) -> Result<()> {
    check_by(pattern, Name::is_publishable)
}

fn check_by(pattern: &str, takes: impl Fn(&Name) -> bool) -> Result<()> {
    // If some text in place of every `*` gives a valid name, one of these three does. (`*@*`, which matches `@a/a`, would
    // need two different texts, and is refused.)
    let is_name = |star: &&str| Name::parse(&pattern.replace('*', star)).is_ok_and(|name| takes(&name));
    if pattern.len() <= LONGEST && ["", "a", "a/a"].iter().any(is_name) {
        return Ok(());
    }
    let message = format!("'{}' cannot match any tool name", pattern.escape_debug());
    Err(Error::new(Code::InvalidArgument, message)
        .hint("write a name such as `alice/weather`, or a pattern such as `alice/*`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("*", "alice/weather", true),
            ("*", "", true),
            ("alice/*", "alice/weather", true),
            ("alice/*", "alice/utils/weather", true),
            ("alice/*", "alicia/weather", false),
            ("alice/*", "alice", false),
            ("alice*", "alicex/weather", true),
            ("*/weather", "alice/utils/weather", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbY", false),
            ("alice/weather", "alice/weather", true),
            ("alice/weather", "alice/weather2", false),
            ("alice/weather", "bob/alice/weather", false),
            ("", "a", false),
            ("**", "a", true),
            ("alice/?", "alice/a", false),
            ("alice/.*", "alice/a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_make_matching_slow() {
        let pattern = "*a".repeat(100) + "b";
        assert!(!matches(&pattern, &"a".repeat(10_000)));
    }

    #[test]
    fn a_pattern_has_the_characters_of_names() {
        assert!(["*", "alice/*", "@org/a_b-c/1"].iter().all(|pattern| check(pattern).is_ok()));
        for pattern in ["*/*", "*a", "@*/b", "*@a/b", "a/b*", "**", "enact*"] {
            assert!(check(pattern).and(check_published(pattern)).is_ok(), "{pattern}");
        }
        for pattern in
            ["", "Alice/*", "a b", "a\0", "é/*", &"a".repeat(256), "/weather", "alice/", "a//*", "a/@b", "enact/*"]
        {
            assert_eq!(check(pattern).expect_err(pattern).code(), Code::InvalidArgument);
        }
        // A tool in a folder may have a name of one segment; a published tool has at least two.
        assert!(check("weather").is_ok() && check_published("weather").is_err());
    }
}
