//! Typing on one line, such as a filter, a note, a value or a name.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Types a key at the end of a line: Backspace deletes a character, Ctrl-W a word, and Ctrl-U everything. Returns whether the
/// key was used.
pub fn typed(line: &mut String, key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if is_control => line.clear(),
        KeyCode::Char('w') if is_control => {
            let end = line.trim_end();
            let start =
                end.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8());
            line.truncate(start);
        }
        KeyCode::Backspace => drop(line.pop()),
        KeyCode::Char(c) if !is_control => line.push(c),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_clear_the_line_and_delete_a_word() {
        let after = |line: &str, key, modifiers| {
            let mut line = line.to_owned();
            let is_used = typed(&mut line, KeyEvent::new(key, modifiers));
            (line, is_used)
        };
        let control = |line, c| after(line, KeyCode::Char(c), KeyModifiers::CONTROL).0;
        assert_eq!([control("one é two ", 'w'), control("one é ", 'w'), control("one", 'w')], ["one é ", "one ", ""]);
        assert_eq!([control("one two", 'u'), control("one", 'x')], ["", "one"]);
        assert_eq!(after("é", KeyCode::Backspace, KeyModifiers::NONE), (String::new(), true));
        assert_eq!(after("a", KeyCode::Char('B'), KeyModifiers::SHIFT), ("aB".to_owned(), true));
        assert_eq!(after("a", KeyCode::Enter, KeyModifiers::NONE), ("a".to_owned(), false));
    }
}
