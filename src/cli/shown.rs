//! Texts of others as a terminal may show them.

use std::borrow::Cow;

/// Returns a text in which no control character but a line's end and a tab does anything: `^[` for ESC, `\x9b` for those behind
/// ASCII. A line that moves the cursor up would hide another from the person who decides about both.
pub(super) fn on_terminal(text: &str) -> Cow<'_, str> {
    let acts = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' if chars.peek() == Some(&'\n') => shown.push(char),
            _ if !acts(char) => shown.push(char),
            '\0'..='\x1f' | '\x7f' => shown.extend(['^', char::from(char as u8 ^ 0x40)]),
            _ => shown.push_str(&format!("\\x{:02x}", u32::from(char))),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_do_nothing() {
        assert_eq!(on_terminal("a\x1b[1A\x1b[2K\r\u{9b}2J\x7f\0b"), "a^[[1A^[[2K^M\\x9b2J^?^@b");
        for plain in ["", "é\tb\n", "a\r\n"] {
            assert_eq!(on_terminal(plain), plain);
        }
    }
}
