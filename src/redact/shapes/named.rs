//! Values that stand behind a secret's name: in settings, JSON, headers, XML and command lines.

use std::ops::Range;

use memchr::{memchr2, memchr3_iter, memmem};

use super::known::is_name_and_password;
use super::span::{Span, begins_colour, ends_colour, is_boundary, is_escape};
use crate::redact::HIDDEN;
use crate::redact::names::{is_secret_name, is_secret_pair, may_be_secret};

/// Characters of the longest name that is looked at.
const LONGEST: usize = 80;

/// Blanks that may stand between a name and its value.
const BLANKS: usize = 40;

/// What a setting holds that is read elsewhere, as mcpkg names a secret by reference.
const REFERENCES: [&str; 3] = ["env:", "file:", "command:"];

/// Words that follow a name without being its value: types, and words of prose.
const WORDS: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "are",
    "array",
    "as",
    "at",
    "bool",
    "boolean",
    "by",
    "can",
    "cannot",
    "could",
    "does",
    "empty",
    "false",
    "field",
    "for",
    "from",
    "given",
    "has",
    "have",
    "if",
    "in",
    "int",
    "integer",
    "invalid",
    "is",
    "it",
    "may",
    "missing",
    "must",
    "needs",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "number",
    "object",
    "of",
    "on",
    "one",
    "only",
    "option",
    "optional",
    "or",
    "required",
    "set",
    "should",
    "str",
    "string",
    "that",
    "the",
    "this",
    "to",
    "too",
    "true",
    "undefined",
    "unexpected",
    "unknown",
    "unset",
    "value",
    "was",
    "when",
    "which",
    "will",
    "with",
    "wrong",
    "your",
];

/// Finds the values behind secrets' names in a text.
pub fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut until = 0;
    for at in memchr3_iter(b'=', b':', b'>', bytes) {
        if at < until {
            continue;
        }
        let Some(after) = separator(bytes, at) else { continue };
        let Some(name) = Name::before(text, at).filter(|name| name.is_in_element(bytes, at)) else { continue };
        if let Some(value) = value(text, after, &name) {
            until = value.range.end;
            spans.push(value);
        }
    }
    options(text, spans);
}

/// Returns where a separator ends that begins at a place: `=`, `:`, `=>`, `:=`, or the `>` of an element.
fn separator(bytes: &[u8], at: usize) -> Option<usize> {
    let (before, after) = (at.checked_sub(1).map(|before| bytes[before]), bytes.get(at + 1).copied());
    match (bytes[at], before, after) {
        // A path of names, an address, a comparison.
        (b':', Some(b':'), _) | (b':', _, Some(b':')) => None,
        (b':', ..) if bytes[at + 1..].starts_with(b"//") => None,
        (b'=', _, Some(b'=' | b'~')) | (b'=', Some(b'=' | b'!' | b'<' | b'>' | b'~' | b':'), _) => None,
        (b'>', Some(b'=' | b'-'), _) => None,
        (b'=', _, Some(b'>')) | (b':', _, Some(b'=')) => Some(at + 2),
        _ => Some(at + 1),
    }
}

/// A name before a separator, which says that a secret follows.
struct Name<'t> {
    start: usize,
    word: &'t str,
    /// Where it stands in double quotes, as in JSON, how many backslashes stand before each.
    quotes: Option<usize>,
}

impl<'t> Name<'t> {
    fn before(text: &'t str, separator: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut end = separator;
        let blanks = bytes[..end].iter().rev().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        end = ends_colour(bytes, end - blanks).unwrap_or(end - blanks);
        let quote = end.checked_sub(1).map(|at| bytes[at]).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        let mut quotes = None;
        if quote.is_some() {
            let slashes = bytes[..end - 1].iter().rev().take_while(|byte| **byte == b'\\').count();
            end -= 1 + slashes;
            quotes = Some(slashes).filter(|_| bytes[end + slashes] == b'"');
        }
        let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let size = bytes[..end].iter().rev().take(LONGEST).take_while(|byte| is_in_name(byte)).count();
        let mut start = end - size;
        let name = &bytes[start..end];
        if !may_be_secret(name) {
            return None;
        }
        if is_escape(bytes, start) {
            start += 1;
        } else if let Some(colour) = name.iter().position(|byte| *byte == b'm').map(|at| start + at + 1)
            && ends_colour(bytes, colour).is_some()
        {
            start = colour;
        }
        let word = &text[start..end];
        let before = text[..start].strip_suffix(' ').map(|before| {
            let at = before
                .rfind(|c: char| !c.is_ascii_alphanumeric())
                .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
            &before[at..]
        });
        let is_secret = match before {
            // What a parser says of a token.
            Some(before)
                if before.to_ascii_lowercase().ends_with("expected") || before.eq_ignore_ascii_case("found") =>
            {
                false
            }
            Some(before) if is_secret_pair(before, word) => true,
            _ => is_secret_name(word) || is_auth(word),
        };
        is_secret.then_some(Self { start, word, quotes })
    }

    /// Whether a `>` ends the element of this name; other separators are not asked.
    fn is_in_element(&self, bytes: &[u8], separator: usize) -> bool {
        bytes[separator] != b'>'
            || self.start.checked_sub(1).is_some_and(|before| bytes[before] == b'<')
                && self.start + self.word.len() == separator
    }
}

/// Whether a name is that of the name and password in a registry's settings.
fn is_auth(word: &str) -> bool {
    matches!(word, "auth" | "_auth")
}

/// Returns the part of a value that is hidden, behind a separator that ends at a place.
fn value(text: &str, after: usize, name: &Name<'_>) -> Option<Span> {
    let bytes = text.as_bytes();
    if bytes[after - 1] == b'>' && bytes[after - 2] != b'=' {
        let end = after + text[after..].find(['<', '\n']).filter(|end| text[after + end..].starts_with("</"))?;
        let is_kept = text[after..end].trim().is_empty() || is_harmless(&text[after..end]);
        return (!is_kept).then(|| (after..end).into());
    }
    let blanks = bytes[after..].iter().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let at = begins_colour(bytes, after + blanks).unwrap_or(after + blanks);
    let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
    if let Some(quote) = bytes.get(at + slashes).filter(|byte| matches!(byte, b'"' | b'\'' | b'`')) {
        let start = at + slashes + 1;
        // The quote ends a text that ends with the name.
        if name.quotes.is_none() && matches!(bytes.get(start), None | Some(b',' | b':' | b'}' | b']')) {
            return None;
        }
        let end = quoted_end(bytes, start, *quote, slashes);
        let value = &text[start..end];
        let is_kept = value.is_empty() || is_harmless(value) || (is_auth(name.word) && !is_name_and_password(value));
        return (!is_kept).then(|| (start..end).into());
    }
    // Found before the end of it is looked for, which may be far: many such values may stand in one word.
    if is_harmless_beginning(&text[at..]) {
        return None;
    }
    let end = unquoted_end(text, at);
    let value = text[at..end].trim_end_matches(['\\', ',', ';', ')', ']', '}']);
    if value.is_empty() || (is_auth(name.word) && !is_name_and_password(value)) {
        return None;
    }
    if is_header(name.word) {
        return header(text, at, value).map(Span::from);
    }
    let follows = &text[at + value.len()..];
    if is_harmless(value) || is_code(value, follows, blanks > 0) {
        return None;
    }
    Some(Span { range: at..at + value.len(), quotes: name.quotes })
}

/// Returns where a text in quotes ends: at the quote that has as many backslashes before it as the one that began it. Where no such
/// quote is in its line, at the first other one: what began it was an apostrophe.
fn quoted_end(bytes: &[u8], start: usize, quote: u8, slashes: usize) -> usize {
    let mut at = start;
    // The quote is near, and the end of the line may be far: JSON on one line has many values.
    let line = loop {
        let Some(next) = memchr2(quote, b'\n', &bytes[at..]) else { break bytes.len() };
        at += next;
        if bytes[at] == b'\n' {
            break at;
        }
        let before = bytes[start..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if if slashes == 0 { before % 2 == 0 } else { before <= slashes } {
            return at - before.min(slashes);
        }
        at += 1;
    };
    let other = bytes[start..line].iter().position(|byte| *byte == b'"' && quote != b'"');
    let end = other.map_or(line, |end| start + end);
    end - bytes[start..end].iter().rev().take_while(|byte| **byte == b'\\').count()
}

fn unquoted_end(text: &str, at: usize) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&' | '\u{1b}');
    text[at..].find(ends).map_or(text.len(), |end| at + end)
}

fn is_header(name: &str) -> bool {
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    ["authorization", "cookie", "cookies"].iter().any(|known| last.eq_ignore_ascii_case(known))
}

/// Returns what is hidden of a header: the credentials behind a scheme's name, else the rest of its line.
fn header(text: &str, at: usize, first: &str) -> Option<Range<usize>> {
    if is_harmless(first) {
        return None;
    }
    let rest = &text[at + first.len()..];
    if ["bearer", "basic", "token"].iter().any(|scheme| first.eq_ignore_ascii_case(scheme)) {
        let start = at + first.len() + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        let end = unquoted_end(text, start);
        let word = text[start..end].trim_end_matches(['\\', ',', ';', ')', ']', '}']);
        let is_kept = word.is_empty() || word.starts_with("mcpkg_") || is_harmless(word);
        return (!is_kept).then_some(start..start + word.len());
    }
    let size = rest.find(['\n', '\r', '"', '\'', '`', '\u{1b}']).unwrap_or(rest.len());
    let line = text[at..at + first.len() + size].trim_end_matches(['\\', ' ']);
    Some(at..at + line.len())
}

/// Whether the text behind a secret's name is not its value: a reference, a variable, a type, a word of prose, or hidden already.
fn is_harmless(value: &str) -> bool {
    is_harmless_beginning(value)
        || is_variable(value)
        || WORDS.binary_search(&value.trim_end_matches(['.', ':', '?', '!']).to_ascii_lowercase().as_str()).is_ok()
        || (value.starts_with("mcpkg_") && value.ends_with(HIDDEN))
}

/// Whether the beginning of a text shows that it is not the value of a secret.
fn is_harmless_beginning(text: &str) -> bool {
    text.starts_with(HIDDEN)
        || REFERENCES.iter().any(|reference| text.starts_with(reference))
        || text.starts_with(['{', '[', '(', '<'])
        || ["${", "$(", "&'", "&str", "&mut", "%s", "%d", "%v"].iter().any(|begin| text.starts_with(begin))
}

/// Whether a value is a variable of a shell's, `$NAME` or `%NAME%`.
fn is_variable(value: &str) -> bool {
    let name = match value.strip_prefix('$') {
        Some(name) => name,
        None => match value.strip_prefix('%').and_then(|value| value.strip_suffix('%')) {
            Some(name) => name,
            None => return false,
        },
    };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a value is a type or a call in a program's text.
fn is_code(value: &str, follows: &str, has_blank: bool) -> bool {
    let name =
        value.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':')).count();
    let is_letters = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    match value.as_bytes().get(name) {
        Some(b'<') => value.starts_with(|c: char| c.is_ascii_uppercase()),
        Some(b'(') => has_blank && name > 0,
        _ => is_letters && value.starts_with(|c: char| c.is_ascii_uppercase()) && follows.starts_with([',', ')', ';']),
    }
}

/// Finds the values of options such as `--password hunter2`.
fn options(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    for at in memmem::find_iter(bytes, b"--").filter(|at| is_boundary(bytes, *at)) {
        let start = at + 2;
        let size = bytes[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        let name = &text[start..start + size];
        if !may_be_secret(name.as_bytes()) || !text[start + size..].starts_with(' ') || !is_secret_name(name) {
            continue;
        }
        let from = start + size + 1;
        let end = unquoted_end(text, from);
        let (from, end) = match bytes.get(from) {
            // The quote ends a text that ends with the name.
            Some(b'"' | b'\'') if matches!(bytes.get(from + 1), None | Some(b',' | b':' | b'}' | b']')) => continue,
            Some(quote @ (b'"' | b'\'')) => (from + 1, quoted_end(bytes, from + 1, *quote, 0)),
            _ => (from, from + text[from..end].trim_end_matches(['\\', ',', ';', '.', ')', ']', '}']).len()),
        };
        let value = &text[from..end];
        let is_placeholder = value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') || value.contains('=');
        if !value.is_empty() && !value.starts_with('-') && !is_placeholder && !is_harmless(value) {
            spans.push((from..end).into());
        }
    }
}
