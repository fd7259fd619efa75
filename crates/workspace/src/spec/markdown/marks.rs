//! Finds words that mark unfinished work, such as TODO.

use std::ops::Range;

/// The words that editors usually highlight.
const WORDS: [&str; 3] = ["TODO", "FIXME", "TBD"];

/// A word that marks unfinished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub word: &'static str,
    /// The line, counted from 1.
    pub line: usize,
}

/// Returns the marks in a range of a text, with their byte offsets. Ignores matches inside longer words.
pub(super) fn find(text: &str, range: Range<usize>) -> impl Iterator<Item = (&'static str, usize)> {
    let within = text.get(range.clone()).unwrap_or_default();
    WORDS.into_iter().flat_map(move |word| {
        let found = within.match_indices(word).map(move |(at, _)| range.start + at);
        found.filter(move |at| is_whole(text, *at..*at + word.len())).map(move |at| (word, at))
    })
}

fn is_whole(text: &str, word: Range<usize>) -> bool {
    let belongs = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let before = text.get(..word.start).and_then(|before| before.chars().next_back());
    let after = text.get(word.end..).and_then(|after| after.chars().next());
    !belongs(before) && !belongs(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found() {
        let text = "TODO: x, TODOS, my_TODO, (FIXME) TBD.";
        let found: Vec<_> = find(text, 0..text.len()).collect();
        assert_eq!(found, [("TODO", 0), ("FIXME", 26), ("TBD", 33)]);
        // A letter just before the range also makes the match part of a longer word.
        assert_eq!(find("aTODO", 1..5).count(), 0);
    }
}
