//! Finds private keys in text, from their first line to their last, or to where they were cut off.
//!
//! Also finds keys that are base64-encoded as a whole, as in Kubernetes and CI variables.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::memmem;

use super::span::Matches;

/// The start of the line before a key.
const BEGIN: &str = "-----BEGIN ";
/// The start of the line after a key.
const END: &str = "-----END ";

/// The end of the lines before and after a key.
const DASHES: &str = "-----";

/// The words in the first line of any private key.
const PRIVATE: &str = "PRIVATE KEY";

/// [`BEGIN`] in base64. The last characters are missing because they depend on the following bytes.
const ENCODED: &str = "LS0tLS1CRUdJTi";
/// How many characters of base64 to decode to see whether the key is private.
const ENCODED_LINE: usize = 64;

/// The line before the lines of a private key in PuTTY's format.
const PUTTY: &str = "Private-Lines:";

/// How many bytes to search for the end of a key.
const LONGEST: usize = 64 << 10;

/// The maximum size in bytes of a key whose last line is missing.
const MOST: usize = 1 << 20;

/// The minimum length of a word that may be a line of a key, if other words precede the word in its line.
const SHORTEST_LINE: usize = 40;
/// Like [`SHORTEST_LINE`], for a word that is alone in its line.
const SHORTEST_WORD: usize = 16;

/// How many bytes of a line are examined at a time.
const LONGEST_LINE: usize = 1 << 10;

/// Headers that may precede the lines of a key.
const HEADERS: [&str; 5] = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"];

/// Finds the private keys in a text.
pub fn find(text: &str, found: &mut Matches) {
    let mut from = 0;
    while let Some(start) = memmem::find(&text.as_bytes()[from..], BEGIN.as_bytes()).map(|at| from + at) {
        from = start + BEGIN.len();
        let line = &text[from..];
        let kind = &line[..line.floor_char_boundary(line.len().min(80))];
        let Some(head) = kind.find(DASHES).filter(|end| kind[..*end].contains(PRIVATE)) else { continue };
        let body = from + head + DASHES.len();
        let (size, goes_on) = rest(&text[body..]);
        from = body + size;
        if goes_on {
            found.goes_on(start);
        }
        found.hide(start..from);
    }
    for at in memmem::find_iter(text.as_bytes(), PUTTY) {
        let near = &text.as_bytes()[at..text.len().min(at + 80)];
        let Some(end) = memchr::memchr(b'\n', near) else { continue };
        let head = at + end + 1;
        let (size, goes_on) = body(&text[head..]);
        if goes_on {
            found.goes_on(at);
        }
        if size > 0 {
            found.hide(head..head + size);
        }
    }
    encoded(text, found);
}

/// Finds private keys that are base64-encoded together with their first and last lines.
fn encoded(text: &str, found: &mut Matches) {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut until = 0;
    for start in memmem::find_iter(text.as_bytes(), ENCODED) {
        if start < until {
            continue;
        }
        let size = text.as_bytes()[start..].iter().take_while(|byte| is_base64(byte)).count();
        let first = &text[start..start + size.min(ENCODED_LINE) / 4 * 4];
        let line = STANDARD_NO_PAD.decode(first.trim_end_matches('=')).unwrap_or_default();
        until = start + size;
        if memmem::find(&line, PRIVATE.as_bytes()).is_some() {
            hide_lines(text, start..until, start, found);
        }
    }
}

/// Hides a part of a text and the base64 lines after it.
fn hide_lines(text: &str, mut range: std::ops::Range<usize>, start: usize, found: &mut Matches) {
    if text[range.end..].is_empty() || text[range.end..].starts_with(['\n', '\r', '\\']) {
        let (size, goes_on) = body(&text[range.end..]);
        range.end += size;
        if goes_on {
            found.goes_on(start);
        }
    }
    if !range.is_empty() {
        found.hide(range);
    }
}

/// Returns the size of the rest of a key at the start of a text, and whether more text could change that size.
fn rest(text: &str) -> (usize, bool) {
    if let Some(end) = end_of_key(text, LONGEST) {
        return (end, false);
    }
    let (taken, goes_on) = body(text);
    (taken, goes_on || text.len() < LONGEST + END.len())
}

/// Like [`rest`], for a key without an end: returns the size of the lines that may belong to it.
fn body(text: &str) -> (usize, bool) {
    let (mut taken, mut at) = (0, 0);
    while at < text.len() {
        if at > MOST {
            return (taken, false);
        }
        let (line, next) = line(text, at);
        // Blank lines belong to the key if more of it follows.
        if !line.trim().is_empty() {
            let is_last = text[next..].trim_start().is_empty();
            if !is_body(line, is_last) {
                return (taken, false);
            }
            taken = at + line.trim_end_matches('\r').len();
        }
        at = next;
    }
    (taken, true)
}

/// Returns how much of a text without its beginning may be the rest of a private key.
pub fn left_of(text: &str) -> usize {
    let is_private = |end: &usize| text[..*end].rfind(END).is_some_and(|at| text[at..*end].contains(PRIVATE));
    if let Some(end) = end_of_key(text, LONGEST / 4).filter(is_private) {
        return end;
    }
    let mut at = text.find('\n').map_or(text.len(), |end| end + 1);
    let mut taken = 0;
    while at < text.len() {
        let (line, next) = line(text, at);
        if line.len() < SHORTEST_LINE || !is_body(line, false) {
            break;
        }
        taken = at + line.len();
        at = next;
    }
    taken
}

/// Returns the end of the last line of a key, unless another key starts before it.
fn end_of_key(text: &str, within: usize) -> Option<usize> {
    let near = &text[..text.floor_char_boundary(text.len().min(within))];
    let near = &near[..near.find(BEGIN).unwrap_or(near.len())];
    let end = near.find(END)?;
    let line = &text[end + END.len()..];
    let line = &line[..line.find('\n').unwrap_or(line.len())];
    let size = line.find(DASHES).map_or(line.len(), |at| at + DASHES.len());
    Some(end + END.len() + size)
}

/// Returns the line that starts at a position, and the start of the next line. An escape such as `\n` also ends a line,
/// and so does the maximum length, because text that is not a key may have endless lines.
fn line(text: &str, at: usize) -> (&str, usize) {
    let rest = &text[at..text.floor_char_boundary(text.len().min(at + LONGEST_LINE))];
    let end = memchr::memchr2(b'\n', b'\\', rest.as_bytes()).unwrap_or(rest.len());
    let mut next = end;
    let bytes = rest.as_bytes();
    while bytes.get(next) == Some(&b'\\') {
        next += 1;
    }
    let skips = if next > end { matches!(bytes.get(next), Some(b'n' | b'r')) } else { next < rest.len() };
    (&rest[..end], at + next + usize::from(skips))
}

/// Whether a line can belong to a key. Only its last word counts, because a time or name may precede each line. The
/// last line of a text may be truncated.
fn is_body(line: &str, is_last: bool) -> bool {
    let word = line.split_whitespace().next_back().unwrap_or_default();
    let is_base64 = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let is_alone = line.trim() == word;
    let is_long = word.len() >= SHORTEST_LINE || (is_alone && (is_last || word.len() >= SHORTEST_WORD));
    let is_end = word.ends_with('=') || word.starts_with('=');
    (is_base64 && (is_long || is_end)) || HEADERS.iter().any(|header| line.contains(header))
}
