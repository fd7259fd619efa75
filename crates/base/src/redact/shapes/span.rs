//! The places in a text that are hidden, and where words begin after escapes and colours.

use std::ops::Range;

/// A part of a text that is hidden.
pub struct Span {
    pub range: Range<usize>,
    /// If JSON needs quotes around the mark: how many backslashes are before each.
    pub quotes: Option<usize>,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { range, quotes: None }
    }
}

/// The findings of the passes in a text.
#[derive(Default)]
pub struct Found {
    /// The parts to hide.
    pub spans: Vec<Span>,
    /// The first place whose redaction more text could still change.
    pub open: Option<usize>,
}

impl Found {
    /// Hides a part of the text.
    pub fn hide(&mut self, range: Range<usize>) {
        self.spans.push(range.into());
    }

    /// Notes that what begins at a place may go on after the end of the text.
    pub fn goes_on(&mut self, from: usize) {
        self.open = Some(self.open.map_or(from, |open| open.min(from)));
    }
}

/// Whether a word may begin at a place: after anything but a letter or digit, or after an escape such as `\n` or a colour's code.
pub fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return true };
    !before.is_ascii_alphanumeric() || is_escape(bytes, at - 1) || ends_colour(bytes, at).is_some()
}

/// Whether the letter of an escaped line end or tab is at a place, as JSON and debug formats write it.
pub fn is_escape(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at], b'n' | b'r' | b't') && at > 0 && bytes[at - 1] == b'\\'
}

/// Returns where the colour's code begins that ends at a place, such as `\x1b[1;31m`.
pub fn ends_colour(bytes: &[u8], at: usize) -> Option<usize> {
    let codes = bytes[..at].strip_suffix(b"m")?;
    let digits = codes.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let start = codes.len() - digits;
    codes[..start].ends_with(b"\x1b[").then(|| start - 2)
}

/// Returns where the colour's code ends that begins at a place.
pub fn begins_colour(bytes: &[u8], at: usize) -> Option<usize> {
    let codes = bytes[at..].strip_prefix(b"\x1b[")?;
    let digits = codes.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    (codes.get(digits) == Some(&b'm')).then(|| at + 2 + digits + 1)
}
