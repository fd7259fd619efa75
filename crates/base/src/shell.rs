//! Quotes words for command lines that users copy.

use shlex::Quoter;

/// Quotes a word for a POSIX shell, if it needs quotes.
pub fn quote(word: &str) -> String {
    // A word with U+0000 cannot appear on a command line at all, so it is shown unchanged.
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
