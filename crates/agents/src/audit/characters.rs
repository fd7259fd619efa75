//! Finds characters that are invisible, that reorder text, or that control a terminal.

use super::found::Found;
use super::rules::{BIDI, CONTROL, ESCAPES, HIDDEN_RUN, TAGS, VARIATIONS, ZERO_WIDTH};
use mcpkg_base::marks::{is_hidden, joins, untagged};

/// How many bytes of context are shown around a hidden character.
const AROUND: usize = 16;

/// The number of consecutive variation selectors that counts as hidden data. A character takes one selector, and an
/// emoji at most two.
const SELECTORS: usize = 3;

/// The number of consecutive invisible characters that counts as hidden data.
const RUN: usize = 8;

/// A run of invisible characters.
#[derive(Default)]
struct Run {
    start: usize,
    end: usize,
    length: usize,
    selectors: usize,
}

pub(super) fn scan(found: &mut Found<'_>) {
    let text = found.text;
    let mut run = Run::default();
    let mut at = 0;
    let mut before = '\n';
    let has_lines = memchr::memchr(b'\n', text.as_bytes()).is_some();
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        if matches!(c, ' '..='~' | '\n' | '\t') || !is_hidden(c) {
            run = Run::default();
        } else {
            let after = text[next..].chars().next();
            match c {
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => found.add_with(&BIDI, at..next, AROUND),
                '\u{e0000}'..='\u{e007f}' => {
                    let tags = text[at..].chars().take_while(|c| is_tag(*c));
                    let (count, length) = tags.fold((0, 0), |(count, size), c| (count + 1, size + c.len_utf8()));
                    let is_flag = before == '\u{1f3f4}' && (2..=8).contains(&count);
                    if !is_flag {
                        found.add_with(&TAGS, at..at + length, AROUND);
                    }
                    before = '\u{e007f}';
                    at += length;
                    continue;
                }
                '\x1b' | '\u{9b}' if is_sequence(c, after) => found.add_with(&ESCAPES, at..next, AROUND),
                // A form feed starts a new page, which is harmless.
                '\x0c' => {}
                '\r' if after == Some('\n') || after.is_none() || !has_lines => {}
                c if c.is_control() => found.add_with(&CONTROL, at..next, AROUND),
                _ => {
                    if run.end != at {
                        run = Run { start: at, ..Run::default() };
                    }
                    let is_selector = is_selector(c);
                    run.selectors = if is_selector { run.selectors + 1 } else { 0 };
                    run.length += 1;
                    run.end = next;
                    if run.selectors == SELECTORS {
                        found.add_with(&VARIATIONS, run.start..next, AROUND);
                    }
                    if run.length == RUN && run.selectors < RUN {
                        found.add_with(&HIDDEN_RUN, run.start..next, AROUND);
                    }
                    if !is_selector && !joins(before, c, after) && !is_ordinary(before, c, after, at) {
                        found.add_with(&ZERO_WIDTH, at..next, AROUND);
                    }
                }
            }
        }
        before = c;
        at = next;
    }
}

/// Returns whether a terminal reads the character `c` and the next one as the start of an escape sequence.
const fn is_sequence(c: char, after: Option<char>) -> bool {
    c == '\u{9b}' || matches!(after, Some('!'..='/' | '0'..='9' | '=' | '>' | '@'..='~'))
}

fn is_tag(c: char) -> bool {
    untagged(c).is_some() || matches!(c, '\u{e0000}'..='\u{e001f}' | '\u{e007f}')
}

const fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
}

/// Returns whether a character that is usually invisible is part of ordinary text here. Many scripts use joiners,
/// direction marks and breaks between words. In Unicode, all these scripts come after U+0590, where Hebrew begins.
fn is_ordinary(before: char, c: char, after: Option<char>, at: usize) -> bool {
    let is_of_script = |c: char| c >= '\u{590}' && c.is_alphanumeric();
    match c {
        '\u{feff}' => at == 0,
        // The blank Braille cell is ordinary in a picture that is made of Braille cells.
        '\u{2800}' => {
            let is_cell = |c: char| matches!(c, '\u{2800}'..='\u{28ff}');
            is_cell(before) || after.is_some_and(is_cell) || before == '\n'
        }
        _ => is_of_script(before) || after.is_some_and(is_of_script),
    }
}
