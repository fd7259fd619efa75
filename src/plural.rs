//! Numbers of things in sentences.

use std::fmt::Display;

/// Returns a number with its noun, such as `1 file`, `2 files` and `2 repositories`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}s"),
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
}
