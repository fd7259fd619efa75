//! What a look at an area is: how deep it goes, and words that several areas use.

use crate::error::Result;
use crate::op::{Context, Finding};

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What takes a moment: no other host is asked, and no large archive is read.
    Brief,
    /// All of it.
    Whole,
}

/// Looks at one area.
pub(super) type Look = fn(&Context, Depth) -> Result<Vec<Finding>>;

/// Returns some names in a sentence, the rest as a number.
pub(super) fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = names.into_iter().collect();
    match names.len() {
        0..=SHOWN => names.join(", "),
        many => format!("{} and {} more", names[..SHOWN].join(", "), many - SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_told_as_a_few_and_a_number() {
        assert_eq!(named(["a", "b"]), "a, b");
        assert_eq!(named(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
