//! Finds secrets with a known format: tokens of well-known services, private keys, and values after a name such as
//! `password`.
//!
//! Such secrets appear in logs, JSON, settings and command lines. So nothing is parsed: everything that looks like a
//! secret is hidden. Each pass jumps between bytes that can start a secret, so text without secrets is processed
//! quickly.

mod harmless;
mod known;
mod name;
mod named;
mod options;
mod prefixes;
mod private_key;
mod quotes;
mod span;
mod value;
mod wrapped;

use std::borrow::Cow;
use std::ops::Range;

pub(super) use harmless::is_harmless_in_list;
pub(super) use prefixes::{ACCESS_KEY, ACCESS_KEY_ID, rest_of as rest_of_token};

use span::{Matches, Span};

use super::HIDDEN;

/// Up to this length in bytes, a line without its beginning is hidden as a whole.
const LONGEST_LINE: usize = 1 << 10;

/// Hides the secrets with a known format.
pub(super) fn hidden_in(text: &str) -> Cow<'_, str> {
    without(text, matches_in(text).spans)
}

/// Returns the first position from which more text could still change the redaction.
pub(super) fn open_in(text: &str) -> Option<usize> {
    matches_in(text).open
}

/// Like [`hidden_in`], for a truncated text. Also hides its last word if that could be the start of a token.
pub(super) fn hidden_in_beginning(text: &str) -> String {
    let mut spans = matches_in(text).spans;
    spans.extend(known::begun_at_end(text).map(Span::from));
    without(text, spans).into_owned()
}

/// Like [`hidden_in`], for a text without its beginning. Also hides the first line, because the name of a secret may be missing
/// before it. If that line is long, only its first word is hidden. Also hides what may be the rest of a private key.
pub(super) fn hidden_in_end(text: &str) -> String {
    let mut spans = matches_in(text).spans;
    let word = first_word(text);
    let near = &text.as_bytes()[word.start..text.len().min(word.start + LONGEST_LINE)];
    let line = memchr::memchr(b'\n', near).filter(|_| !word.is_empty()).map_or(word.end, |size| word.start + size);
    let hidden = [word.start..line, 0..private_key::left_of(text)];
    spans.extend(hidden.into_iter().filter(|span| !span.is_empty()).map(Span::from));
    without(text, spans).into_owned()
}

/// Returns the first word of a text; an empty range if the text starts with a line break.
fn first_word(text: &str) -> Range<usize> {
    let start = text.find(|c: char| !matches!(c, ' ' | '\t')).unwrap_or(text.len());
    let end = text[start..].find(is_delimiter).map_or(text.len(), |at| start + at);
    // Leave a word that is already redacted.
    if text[start..end].starts_with(HIDDEN) { start..start } else { start..end }
}

fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '<' | '>')
}

fn matches_in(text: &str) -> Matches {
    let mut found = Matches::default();
    private_key::find(text, &mut found);
    named::find(text, &mut found);
    options::find(text, &mut found);
    known::find(text, &mut found);
    wrapped::find(text, &mut found);
    found
}

fn without(text: &str, mut spans: Vec<Span>) -> Cow<'_, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    let mut safe = String::with_capacity(text.len());
    let mut at = 0;
    for Span { range, quotes } in spans {
        // The span is inside the previous one, or overlaps its end.
        if range.start < at {
            at = at.max(range.end);
            continue;
        }
        let quote = quotes.map_or_else(String::new, |slashes| format!("{}\"", "\\".repeat(slashes)));
        safe.extend([&text[at..range.start], &quote, HIDDEN, &quote]);
        at = range.end;
    }
    safe.push_str(&text[at..]);
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests;
