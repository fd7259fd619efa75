//! Formats counts and lists of names for sentences.

use std::fmt::Display;

/// Returns a number with its noun: `1 file`, `2 files`, `2 repositories`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
    }
}

/// Returns the first `most` names and the number of others: `a, b and 3 more`.
pub fn first<N: AsRef<str>>(names: impl IntoIterator<Item = N>, most: usize) -> String {
    let mut names = names.into_iter();
    let mut text = String::new();
    for name in names.by_ref().take(most) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name.as_ref());
    }
    match names.count() {
        0 => text,
        others => format!("{text} and {others} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_the_only_singular() {
        let all = [0, 1, 2, 21].map(|number: usize| count(number, "file"));
        assert_eq!(all, ["0 files", "1 file", "2 files", "21 files"]);
        assert_eq!([count(2, "repository"), count(1, "repository")], ["2 repositories", "1 repository"]);
        assert_eq!(count(2, "key"), "2 keys");
    }

    #[test]
    fn long_lists_are_shortened_to_a_few_names_and_a_number() {
        let names = ["a", "b", "c", "d"];
        assert_eq!(
            [first(names, 2), first(names, 3), first(names, 4)],
            ["a, b and 2 more", "a, b, c and 1 more", "a, b, c, d"]
        );
        assert_eq!(first([""; 0], 3), "");
    }
}
