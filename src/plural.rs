//! Numbers of things in sentences.

use std::fmt::Display;

/// Returns a number with its noun, such as `1 file` and `2 files`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_the_only_singular() {
        let all = [0, 1, 2, 21].map(|number: usize| count(number, "file"));
        assert_eq!(all, ["0 files", "1 file", "2 files", "21 files"]);
    }
}
