//! Records the parts of a text to hide, and finds the starts of words after escapes and color sequences.

use std::ops::Range;

/// A part of a text to hide.
pub struct Span {
    pub range: Range<usize>,
    /// Set if JSON needs quotes around the mark: the number of backslashes before each quote.
    pub quotes: Option<usize>,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { range, quotes: None }
    }
}

/// The results of all passes over a text.
#[derive(Default)]
pub struct Matches {
    /// The parts to hide.
    pub spans: Vec<Span>,
    /// The first position from which more text could still change the redaction.
    pub open: Option<usize>,
}

impl Matches {
    /// Adds a part of the text to hide.
    pub fn hide(&mut self, range: Range<usize>) {
        self.spans.push(range.into());
    }

    /// Records that something that starts at this position may continue after the end of the text.
    pub fn goes_on(&mut self, from: usize) {
        self.open = Some(self.open.map_or(from, |open| open.min(from)));
    }
}

/// Whether a word may start at a position: after anything except a letter or digit, after an escape such as `\n`, or
/// after a color sequence.
pub fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return true };
    !before.is_ascii_alphanumeric() || is_escape(bytes, at - 1) || ends_colour(bytes, at).is_some()
}

/// Whether the position is at the letter of an escaped line end or tab, such as the `n` of `\n`.
pub fn is_escape(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at], b'n' | b'r' | b't') && at > 0 && bytes[at - 1] == b'\\'
}

/// Returns the start of the color sequence that ends at a position, such as `\x1b[1;31m`.
pub fn ends_colour(bytes: &[u8], at: usize) -> Option<usize> {
    let codes = bytes[..at].strip_suffix(b"m")?;
    let digits = codes.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let start = codes.len() - digits;
    codes[..start].ends_with(b"\x1b[").then(|| start - 2)
}

/// Returns the end of the color sequence that starts at a position.
pub fn begins_colour(bytes: &[u8], at: usize) -> Option<usize> {
    let codes = bytes[at..].strip_prefix(b"\x1b[")?;
    let digits = codes.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    (codes.get(digits) == Some(&b'm')).then(|| at + 2 + digits + 1)
}
