//! Private keys as text: from the line that begins one to the line that ends it, or to where it was cut off.

use memchr::memmem;

use super::span::Span;

/// How the line begins that begins a key, and that ends one.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// How each of these lines ends.
const DASHES: &str = "-----";

/// What the line that begins a private key has, whatever the key's kind.
const PRIVATE: &str = "PRIVATE KEY";

/// Bytes in which the end of a key is looked for.
const LONGEST: usize = 64 << 10;

/// Characters of a line of a key that no end follows; of one with other words before it, and of one by itself.
const SHORTEST_LINE: usize = 40;
const SHORTEST_WORD: usize = 16;

/// Headers that may stand in a key before its lines.
const HEADERS: [&str; 5] = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"];

/// Finds the private keys in a text, and whether the text ends inside of one.
pub fn find(text: &str, spans: &mut Vec<Span>) -> bool {
    let mut from = 0;
    let mut is_open = false;
    while let Some(start) = memmem::find(&text.as_bytes()[from..], BEGIN.as_bytes()).map(|at| from + at) {
        from = start + BEGIN.len();
        let line = &text[from..];
        let kind = &line[..line.floor_char_boundary(line.len().min(80))];
        let Some(head) = kind.find(DASHES).filter(|end| kind[..*end].contains(PRIVATE)) else { continue };
        let (size, goes_on) = rest(&text[from + head + DASHES.len()..]);
        from += head + DASHES.len() + size;
        is_open = goes_on;
        spans.push((start..from).into());
    }
    is_open
}

/// Returns how much of a text belongs to a key that began before it, and whether all of it does and the key goes on.
pub fn rest(text: &str) -> (usize, bool) {
    if let Some(end) = end_of_key(text, LONGEST) {
        return (end, false);
    }
    let (mut taken, mut at) = (0, 0);
    while at < text.len() {
        let (line, next) = line(text, at);
        let is_last = text[next..].trim().is_empty();
        // Blank lines belong to it where more of it follows.
        if !line.trim().is_empty() {
            if !is_body(line, is_last) {
                return (taken, false);
            }
            taken = at + line.len();
        }
        at = next;
    }
    (taken, true)
}

/// Returns how much of the end of a text, whose beginning was left out, can belong to a private key.
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

/// Returns where the line ends that ends a key, unless another key begins before it.
fn end_of_key(text: &str, within: usize) -> Option<usize> {
    let near = &text[..text.floor_char_boundary(text.len().min(within))];
    let end = near.find(END).filter(|end| !near[..*end].contains(BEGIN))?;
    let line = &text[end + END.len()..];
    let size = line.find(DASHES).map(|at| at + DASHES.len()).filter(|size| !line[..*size].contains('\n'));
    Some(end + END.len() + size.unwrap_or_else(|| line.find('\n').unwrap_or(line.len())))
}

/// Returns the line that begins at a place, and where the next one does. An escape such as `\n` ends a line too.
fn line(text: &str, at: usize) -> (&str, usize) {
    let rest = &text[at..];
    let end = rest.find(['\n', '\\']).unwrap_or(rest.len());
    let mut next = end;
    let bytes = rest.as_bytes();
    while bytes.get(next) == Some(&b'\\') {
        next += 1;
    }
    let skips = if next > end { matches!(bytes.get(next), Some(b'n' | b'r')) } else { next < rest.len() };
    (&rest[..end], at + next + usize::from(skips))
}

/// Whether a line can be one of a key: its last word can, since a time or a name may stand before each line. The last line of a
/// text may be cut off.
fn is_body(line: &str, is_last: bool) -> bool {
    let word = line.split_whitespace().next_back().unwrap_or_default();
    let is_base64 = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let is_alone = line.trim() == word;
    let is_long = word.len() >= SHORTEST_LINE || (is_alone && (is_last || word.len() >= SHORTEST_WORD));
    let is_end = word.ends_with('=') || word.starts_with('=');
    (is_base64 && (is_long || is_end)) || HEADERS.iter().any(|header| line.contains(header))
}
