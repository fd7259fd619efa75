//! Reads YAML 1.2 that people and other programs wrote: front matter, manifests, configuration, API documents.
//!
//! A type that must know the position of a value wraps it in `serde_saphyr::Spanned`. The workflow crate has
//! its own reader, which records the position of everything and refuses text that YAML parsers read differently.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_saphyr::Location;
pub use serde_saphyr::Options;

/// Returns the options of YAML 1.2: `yes` and `1_000` are texts. `aliased` limits the values that aliases expand to, so
/// that a few lines cannot become millions.
pub fn options(aliased: usize) -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: aliased },
    }
}

/// The reason why a text cannot be read.
#[derive(Debug)]
pub struct Malformed {
    /// The parser's message, without the position and the excerpt.
    pub why: String,
    pub at: Option<Location>,
    /// The value and the variants of its enum, if the text cannot be read because the value is not one of them.
    pub unknown: Option<(String, Vec<&'static str>)>,
}

impl Malformed {
    /// Returns the line, counted from 1; 1 if the position is unknown.
    pub fn line(&self) -> usize {
        self.at.map_or(1, |at| usize::try_from(at.line()).unwrap_or(1).max(1))
    }

    /// Returns the column, counted from 1; 1 if the position is unknown.
    pub fn column(&self) -> usize {
        self.at.map_or(1, |at| usize::try_from(at.column()).unwrap_or(1).max(1))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(_) => write!(f, "line {}, column {}: {}", self.line(), self.column(), self.why),
            None => f.write_str(&self.why),
        }
    }
}

pub fn read<T: DeserializeOwned>(text: &str, options: Options) -> Result<T, Malformed> {
    serde_saphyr::from_str_with_options(text, options).map_err(|error| Malformed {
        why: why(&error.to_string()).to_owned(),
        at: error.location().filter(|at| *at != Location::UNKNOWN),
        unknown: match error.without_snippet() {
            serde_saphyr::Error::SerdeUnknownVariant { variant, expected, .. } => {
                Some((variant.clone(), expected.clone()))
            }
            _ => None,
        },
    })
}

/// Returns the first line of a message without its position: `error: line 2 column 3: expected a value at line 2, column 3`
/// -> `expected a value`.
fn why(message: &str) -> &str {
    let first = message.lines().next().unwrap_or_default();
    let bare = first.strip_prefix("error: ").unwrap_or(first);
    let bare = bare.split_once(": ").filter(|(place, _)| place.starts_with("line ")).map_or(bare, |(_, why)| why);
    bare.split(" at line ").next().unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_does_not_repeat_its_position() {
        for (text, line) in [("a: [", 1), ("a: 1\nb: {\n", 2), ("a: 1\na: 2\n", 2), ("- a\n", 1)] {
            let malformed =
                read::<std::collections::BTreeMap<String, serde_json::Value>>(text, options(10)).unwrap_err();
            assert!(!malformed.why.contains("line") && !malformed.why.is_empty(), "{malformed:?}");
            assert!(malformed.line().abs_diff(line) <= 1 && malformed.column() > 0, "{text}: {malformed:?}");
        }
    }

    #[test]
    fn aliases_expand_up_to_the_limit() {
        let text = "a: &a [1, 2, 3]\nb: [*a, *a, *a]\n";
        assert!(read::<serde_json::Value>(text, options(100)).is_ok());
        assert!(read::<serde_json::Value>(text, options(10)).is_err());
    }
}
