//! Words for command lines that users copy.

use shlex::Quoter;

/// Returns a word as a POSIX shell reads it back: as it is where that is plain, else in quotes.
pub fn quote(word: &str) -> String {
    // A word with U+0000 cannot stand on a command line at all; it is shown as it is.
    Quoter::new().allow_nul(true).quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quote("/a/b-c"), "/a/b-c");
        assert_eq!(quote(""), "''");
        for word in ["a b'c", "$HOME", "a\\b", "é=1", "`x`", "a\nb"] {
            assert_eq!(shlex::split(&quote(word)), Some(vec![word.to_owned()]), "{word:?}");
        }
    }
}
