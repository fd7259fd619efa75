//! Replaces characters that are invisible, or that move other text, with visible marks.
//!
//! Names, descriptions, diffs and arguments come from other people and from agents. If a terminal printed them
//! unchanged, it would execute escape sequences in them, reverse lines, and show nothing for zero-width, filler and tag
//! characters.

use std::borrow::Cow;
use std::fmt::Write;

/// The Unicode tag characters. Each is [`TAG_BASE`] plus the ASCII character that it stands for.
const TAGS: std::ops::RangeInclusive<char> = '\u{e0020}'..='\u{e007e}';
const TAG_BASE: u32 = 0xe0000;

/// Marks the hidden characters of a text with several lines. Line ends and tabs stay.
///
/// Examples: `^[` for ESC, `\x9b` for a control character beyond ASCII, `<U+202E>` for a character that reverses text
/// or has no width, and `<tags: Hi>` for tag characters.
pub fn text(text: &str) -> Cow<'_, str> {
    marked(text, |c| !matches!(c, '\n' | '\t'))
}

/// Marks the hidden characters of a single line, including line ends and tabs.
pub fn line(text: &str) -> Cow<'_, str> {
    marked(text, |_| true)
}

/// Escapes the hidden characters in the strings of a JSON text, so that its value stays the same.
pub fn json(text: &str) -> Cow<'_, str> {
    // Strings in JSON already escape all ASCII control characters except DEL. Line ends only occur between strings.
    let acts = |c: char| is_hidden(c) && (!c.is_ascii_control() || c == '\x7f');
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match acts(c) {
            true => escape(&mut escaped, c),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

fn marked(text: &str, acts: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(|c| is_hidden(c) && acts(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '\r' if next == Some('\n') && !acts('\n') => shown.push(c),
            _ if !is_hidden(c) || !acts(c) || joins(before, c, next) => shown.push(c),
            '\0'..='\x1f' | '\x7f' => shown.extend(['^', char::from(c as u8 ^ 0x40)]),
            '\u{80}'..='\u{9f}' => {
                let _ = write!(shown, "\\x{:02x}", u32::from(c));
            }
            _ => match untagged(c) {
                Some(first) => {
                    shown.push_str("<tags: ");
                    shown.push(first);
                    while let Some(more) = chars.peek().copied().and_then(untagged) {
                        shown.push(more);
                        chars.next();
                    }
                    shown.push('>');
                }
                None => {
                    let _ = write!(shown, "<U+{:04X}>", u32::from(c));
                }
            },
        }
        before = c;
    }
    Cow::Owned(shown)
}

/// Whether a terminal reacts to a character or shows nothing for it.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a hidden character is part of an emoji: it changes how the picture before it looks, or joins that picture to
/// the next one.
pub fn joins(before: char, c: char, next: Option<char>) -> bool {
    let is_picture = |c: char| {
        matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{27ff}'
            | '\u{2900}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
    };
    match c {
        '\u{fe0e}' | '\u{fe0f}' => is_picture(before),
        '\u{200d}' => (is_picture(before) || before == '\u{fe0f}') && next.is_some_and(is_picture),
        _ => false,
    }
}

pub fn untagged(c: char) -> Option<char> {
    TAGS.contains(&c).then(|| char::from_u32(u32::from(c) - TAG_BASE)).flatten()
}

fn escape(text: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_are_shown_and_do_nothing() {
        assert_eq!(text("a\x1b[1A\x1b[2K\r\u{9b}2J\x7f\0b"), "a^[[1A^[[2K^M\\x9b2J^?^@b");
        assert_eq!(text("a\u{202e}b\u{200b}\u{3164}\u{ad}"), "a<U+202E>b<U+200B><U+3164><U+00AD>");
        assert_eq!(text("x\u{e0001}\u{e0048}\u{e0069}\u{e007f}y"), "x<U+E0001><tags: Hi><U+E007F>y");
        assert_eq!(line("a\n\tb"), "a^J^Ib");
        for plain in ["", "é\tb\n", "a\r\n", "日本\u{3000}語", "⚠\u{fe0f} 👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥"]
        {
            assert_eq!(text(plain), plain);
        }
        // Other invisible characters are marked, because they can hide data.
        assert_eq!(text("⚠\u{fe0f}\u{fe0f}a\u{fe01}\u{200d}"), "⚠\u{fe0f}<U+FE0F>a<U+FE01><U+200D>");
    }

    #[test]
    fn json_keeps_its_value() {
        let pretty = format!("{:#}", json!({ "a": "\u{202e}\u{9b}" }));
        assert_eq!(json(&pretty), "{\n  \"a\": \"\\u202e\\u009b\"\n}");
    }
}
