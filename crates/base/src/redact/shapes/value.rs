//! Finds the value after a secret's name: quoted or unquoted, in a list, in an XML element, or in the following lines.

use memchr::{memchr, memmem};

use super::harmless::{ends_value, is_code, is_harmless, is_harmless_beginning, is_harmless_in_list};
use super::known::is_name_and_password;
use super::name::{Name, after_blanks};
use super::quotes::Quote;
use super::span::{Matches, Span};

/// The longest value of several lines, in bytes.
const LONGEST: usize = 16 << 10;

/// How far to search for the end of a quoted text that will not be hidden.
const HARMLESS: usize = 256;

/// The minimum length of a private number in a JSON Web Key.
const SHORTEST_NUMBER: usize = 40;

/// Text that may precede an opening quote: a call, or a prefix such as Python's `b`.
const WRAPPERS: [&str; 12] =
    ["Some(", "Ok(", "Just(", "String(", "Secret(", "SecretString(", "b", "r", "u", "f", "rb", "@"];

/// Characters that are trimmed from the end of an unquoted value.
const TRIMMED: [char; 6] = ['\\', ',', ';', ')', ']', '}'];

/// Finds values in a text, from its beginning to its end.
pub struct Values<'t> {
    text: &'t str,
    /// The end of the last value. Names before this position are part of that value.
    pub until: usize,
    /// The end of the last word, untrimmed and trimmed. A long word may contain many names, so it is scanned only once.
    word: (usize, usize),
}

impl<'t> Values<'t> {
    pub const fn new(text: &'t str) -> Self {
        Self { text, until: 0, word: (0, 0) }
    }

    fn hide_to(&mut self, start: usize, end: usize, found: &mut Matches) {
        self.until = end;
        found.hide(start..end);
    }

    /// Hides the value after a separator that ends at `after`.
    pub fn hide(&mut self, after: usize, name: &Name<'_>, found: &mut Matches) {
        let (text, bytes) = (self.text, self.text.as_bytes());
        if bytes[after - 1] == b'>' && bytes[after - 2] != b'=' {
            return self.element(after, name, found);
        }
        let mut at = after_blanks(bytes, after);
        if is_line_end(text, at) {
            return self.below(at, name, bytes[after - 1] == b':', found);
        }
        if matches!(bytes[at], b'|' | b'>') && is_line_end(text, at + 1 + indicators(&bytes[at + 1..])) {
            return self.block(at, name, found);
        }
        if bytes[at] == b'[' {
            return self.list(at + 1, name, found);
        }
        at = behind_wrapper(text, at);
        for quotes in ["\"\"\"", "'''"] {
            if text[at..].starts_with(quotes) {
                return self.lines_in(quotes, at + 3, name, found);
            }
        }
        if self.quoted(at, name, found) || is_harmless_beginning(&text[at..]) {
            return;
        }
        let end = self.word_end(at);
        let value = &text[at..end];
        if value.is_empty() || name.is_number() || (name.is_auth() && !is_name_and_password(value)) {
            return;
        }
        if name.is_of_line() {
            if let Some((start, end)) = line(text, at, value) {
                self.hide_to(start, end, found);
            }
            return;
        }
        if !is_harmless(value) && !is_code(&text[at..], at > after) && !is_folder(name, value) {
            self.until = end;
            found.spans.push(Span { range: at..end, quotes: name.quotes });
        }
    }

    /// Like [`Values::hide`], for a percent-encoded separator, as in a URL inside another one.
    pub fn hide_encoded(&mut self, at: usize, name: &Name<'_>, found: &mut Matches) {
        let is_kept = name.is_auth() || name.is_number() || is_harmless_beginning(&self.text[at..]);
        if is_kept || self.quoted(at, name, found) {
            return;
        }
        let end = self.word_end(at);
        let end = memmem::find(&self.text.as_bytes()[at..end], b"%26").map_or(end, |size| at + size);
        let value = &self.text[at..end];
        if !value.is_empty() && !is_harmless(value) {
            self.hide_to(at, end, found);
        }
    }

    /// Hides a value in quotes; returns whether there are quotes.
    fn quoted(&mut self, at: usize, name: &Name<'_>, found: &mut Matches) -> bool {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
        let quote = match Quote::begins(bytes, at) {
            Some(spelled @ Quote::Spelled(_)) => Some((spelled, at, 0)),
            _ if at + slashes < bytes.len() => {
                Quote::begins(bytes, at + slashes).map(|quote| (quote, at + slashes, slashes))
            }
            _ => None,
        };
        let Some((quote, at, slashes)) = quote else { return false };
        let start = at + quote.size();
        // This quote closes a text that ends with the name, so no value follows.
        if !name.is_quoted && matches!(bytes.get(start), None | Some(b',' | b':' | b'}' | b']')) {
            return true;
        }
        // Check this before searching for the end, which may be far away: a line can contain many such values.
        if is_harmless_beginning(&text[start..]) {
            return true;
        }
        let end = match name.is_auth() || name.is_number() {
            true => start + bytes[start..].iter().take(LONGEST).take_while(is_base64).count(),
            false => quote.end(text, start, slashes),
        };
        let value = &text[start..end];
        let is_kept = value.is_empty()
            || is_harmless(value)
            || is_folder(name, value)
            || (name.is_auth() && !is_name_and_password(value))
            || (name.is_number() && !is_number(value));
        match is_kept {
            true => self.until = end,
            false => self.hide_to(start, end, found),
        }
        true
    }

    /// Returns the end of the unquoted word at a position, without characters that close a list around it.
    fn word_end(&mut self, at: usize) -> usize {
        if at >= self.word.0 {
            let mut end = at;
            loop {
                end = self.text[end..].find(ends_value).map_or(self.text.len(), |size| end + size);
                // A quote in the middle of a word is part of the word.
                let bytes = self.text.as_bytes();
                let is_inside = end > at
                    && matches!(bytes.get(end), Some(b'"' | b'\''))
                    && !matches!(bytes[end - 1], b'=' | b':' | b'(' | b'\\')
                    && bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
                if !is_inside {
                    break;
                }
                end += 1;
            }
            let trimmed = at + self.text[at..end].trim_end_matches(TRIMMED).len();
            self.word = (end, trimmed);
        }
        self.word.1.max(at)
    }

    /// Hides the text of an XML element.
    fn element(&mut self, after: usize, name: &Name<'_>, found: &mut Matches) {
        let near = &self.text[after..self.text.floor_char_boundary(after + LONGEST).max(after)];
        let Some(size) = memchr(b'<', near.as_bytes()) else {
            // A value of several lines starts on a new line.
            if near.len() < LONGEST && near.starts_with(['\n', '\r']) {
                found.goes_on(name.start);
            }
            return;
        };
        let value = &near[..size];
        let is_one_line = !value.trim_end().contains('\n') || value.starts_with(['\n', '\r']);
        if !near[size..].starts_with("</") || !is_one_line || value.trim().is_empty() || is_harmless(value.trim()) {
            return;
        }
        let start = after + (value.len() - value.trim_start_matches(['\n', '\r', ' ', '\t']).len());
        let start = if value.contains('\n') { start } else { after };
        let end = if value.contains('\n') { after + value.trim_end().len() } else { after + size };
        self.hide_to(start, end, found);
    }

    /// Hides the strings of a list, except names and types.
    fn list(&mut self, at: usize, name: &Name<'_>, found: &mut Matches) {
        let bytes = self.text.as_bytes();
        let mut at = at;
        let most = (at + LONGEST).min(bytes.len());
        loop {
            at += bytes[at..]
                .iter()
                .take(LONGEST)
                .take_while(|byte| byte.is_ascii_whitespace() || **byte == b',')
                .count();
            let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
            if at + slashes >= bytes.len() {
                found.goes_on(name.start);
                return;
            }
            let Some(quote) = Quote::begins(bytes, at + slashes).filter(|_| at < most) else { break };
            let start = at + slashes + quote.size();
            // Limit the search: a string that is not hidden may have no end.
            let is_kept = is_harmless_beginning(&self.text[start..]);
            let near = self.text.floor_char_boundary(start + HARMLESS).max(start);
            let end = quote.end(if is_kept { &self.text[..near] } else { self.text }, start, slashes);
            if is_kept && end >= near {
                return;
            }
            let value = &self.text[start..end];
            if !is_harmless_in_list(value) && !name.is_number() {
                self.hide_to(start, end, found);
            }
            at = (end + slashes + quote.size()).min(bytes.len());
        }
        if name.is_of_line() && !bytes[at..].starts_with(b"]") {
            let size = self.text[at..].find([']', '\n']).unwrap_or(self.text.len() - at);
            if size > 0 && !is_harmless(&self.text[at..at + size]) {
                self.hide_to(at, at + size, found);
            }
        }
    }

    /// Hides a text of several lines in triple quotes.
    fn lines_in(&mut self, quotes: &str, start: usize, name: &Name<'_>, found: &mut Matches) {
        let near = &self.text[start..self.text.floor_char_boundary(start + LONGEST).max(start)];
        let end = near.find(quotes);
        if end.is_none() && near.len() < LONGEST - 4 {
            found.goes_on(name.start);
        }
        let value = &near[..end.unwrap_or(near.len())];
        let from = start + value.len() - value.trim_start_matches(['\r', '\n', ' ', '\t', '\\']).len();
        let value = value.trim();
        if !value.is_empty() && !is_harmless(value) {
            self.hide_to(from, from + value.len().min(self.text.len() - from), found);
        }
    }

    /// Hides the lines of a YAML block below a name: those that are indented more than the name's line.
    fn block(&mut self, at: usize, name: &Name<'_>, found: &mut Matches) {
        let own = indent(self.text, name.start);
        let (mut start, mut end, mut line) = (None, 0, next_line(self.text, at));
        loop {
            if line >= self.text.len() {
                found.goes_on(name.start);
                break;
            }
            let next = next_line(self.text, line);
            let content = self.text[line..next].trim_end();
            let depth = content.len() - content.trim_start_matches([' ', '\t']).len();
            if !content.is_empty() {
                if depth <= own || line > at + LONGEST {
                    break;
                }
                start = start.or(Some(line + depth));
                end = line + content.len();
            }
            line = next;
        }
        if let Some(start) = start.filter(|start| !is_harmless(&self.text[*start..end])) {
            self.hide_to(start, end, found);
        }
    }

    /// Hides the value of a name at the end of a line, if the value is on the next line: a quoted text, or, in YAML,
    /// one word that is indented more.
    fn below(&mut self, at: usize, name: &Name<'_>, is_colon: bool, found: &mut Matches) {
        let line = next_line(self.text, at);
        if line >= self.text.len() {
            found.goes_on(name.start);
            return;
        }
        let next = next_line(self.text, line);
        let content = self.text[line..next].trim_end();
        let depth = content.len() - content.trim_start_matches([' ', '\t']).len();
        let word = &content[depth..];
        if word.is_empty() || depth <= indent(self.text, name.start) {
            return;
        }
        let start = behind_wrapper(self.text, line + depth);
        if word.starts_with(['"', '\'', '`', '\\']) || start > line + depth {
            self.quoted(start, name, found);
            return;
        }
        let is_one = !word.contains([' ', '\t', ':', '=', '"', '\'']) && !word.starts_with(['-', '#', '/']);
        if is_colon && is_one && name.begins_line(self.text) && !is_harmless(word) && !is_code(word, true) {
            self.hide_to(line + depth, line + content.len(), found);
        }
    }
}

/// Returns the part of a header's line to hide: the credentials after the scheme, or else the rest of the line.
fn line(text: &str, at: usize, first: &str) -> Option<(usize, usize)> {
    if is_harmless(first) {
        return None;
    }
    let rest = &text[at + first.len()..];
    if ["bearer", "basic", "token"].iter().any(|scheme| first.eq_ignore_ascii_case(scheme)) {
        let start = at + first.len() + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        let end = text[start..].find(ends_value).map_or(text.len(), |size| start + size);
        let word = text[start..end].trim_end_matches(TRIMMED);
        let is_kept = word.is_empty() || word.starts_with("mcpkg_") || is_harmless(word);
        return (!is_kept).then_some((start, start + word.len()));
    }
    let size = rest.find(['\n', '\r', '"', '\'', '`', '\u{1b}']).unwrap_or(rest.len());
    let line = text[at..at + first.len() + size].trim_end_matches(['\\', ' ']);
    Some((at, at + line.len()))
}

/// Whether a character occurs in base64, including its variant for URLs.
fn is_base64(byte: &&u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Whether a value is a long random number in base64.
fn is_number(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    value.len() >= SHORTEST_NUMBER
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

/// Whether the name is `pwd` and the value looks like the path of a shell's current folder instead of a password.
fn is_folder(name: &Name<'_>, value: &str) -> bool {
    name.word.eq_ignore_ascii_case("pwd") && (value.starts_with(['/', '~', '.']) || value.contains(":\\"))
}

/// Returns the position of the quote after a call or prefix; without those, returns `at`.
fn behind_wrapper(text: &str, at: usize) -> usize {
    let is_quote = |end: usize| matches!(text.as_bytes().get(end), Some(b'"' | b'\''));
    let wrapper = WRAPPERS.iter().find(|wrapper| text[at..].starts_with(**wrapper) && is_quote(at + wrapper.len()));
    wrapper.map_or(at, |wrapper| at + wrapper.len())
}

/// Returns the number of characters that describe how a YAML block is folded.
fn indicators(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, b'-' | b'+' | b'0'..=b'9' | b' ')).count()
}

/// Whether a line ends at a position, or continues on the next line after a backslash.
fn is_line_end(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    rest.is_empty() || ["\n", "\r\n", "\\\n", "\\\r\n"].iter().any(|end| rest.starts_with(end))
}

fn next_line(text: &str, at: usize) -> usize {
    memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |size| at + size + 1)
}

/// Returns the indentation of the line that contains a position.
fn indent(text: &str, at: usize) -> usize {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
    line.len() - line.trim_start_matches([' ', '\t']).len()
}
