//! Removes terminal escape sequences, such as colors. In the middle of a word, they would keep a secret from being
//! found.

use std::borrow::Cow;

/// The ways a control sequence (ESC `[`) can start: the real one, and its spellings in JSON, shells and source code.
const BEGINNINGS: [&str; 6] = ["\u{1b}[", "\\u001b[", "\\u001B[", "\\x1b[", "\\033[", "\\e["];

/// The most characters between the start of a sequence and its last letter.
const LONGEST: usize = 32;

/// Returns a text without escape sequences; `None` if it has none.
pub fn without(text: &str) -> Option<String> {
    let mut plain: Option<String> = None;
    let (mut kept, mut at) = (0, 0);
    while let Some(next) = memchr::memchr2(0x1b, b'\\', &text.as_bytes()[at..]).map(|next| at + next) {
        let Some(size) = sequence(&text[next..]) else {
            at = next + 1;
            continue;
        };
        plain.get_or_insert_default().push_str(&text[kept..next]);
        (kept, at) = (next + size, next + size);
    }
    plain.map(|mut plain| {
        plain.push_str(&text[kept..]);
        plain
    })
}

/// Returns a text without escape sequences.
pub fn plain(text: &str) -> Cow<'_, str> {
    without(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the length of the escape sequence at the start of a text.
fn sequence(text: &str) -> Option<usize> {
    let begin = BEGINNINGS.iter().find(|begin| text.starts_with(**begin))?.len();
    let is_inside = |byte: &u8| matches!(byte, 0x20..0x40);
    let size = text.as_bytes()[begin..].iter().take(LONGEST).take_while(|byte| is_inside(byte)).count();
    let is_ended = text.as_bytes().get(begin + size).is_some_and(|byte| matches!(byte, 0x40..0x7f));
    is_ended.then_some(begin + size + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed_in_every_spelling() {
        for (text, expected) in [
            ("a\u{1b}[1;31mb\u{1b}[0m\u{1b}[Kc", "abc"),
            ("a\\u001b[31mb\\x1b[0mc\\033[md\\e[1me", "abcde"),
            ("\u{1b}[38;2;1;2;3mé", "é"),
        ] {
            assert_eq!(without(text).as_deref(), Some(expected));
        }
        for text in ["a[31mb", "C:\\e[x", "\u{1b}]0;title\u{7}", "\\", "\u{1b}["] {
            let kept = without(text);
            assert!(kept.is_none() || text == "C:\\e[x", "{kept:?}");
        }
    }
}
