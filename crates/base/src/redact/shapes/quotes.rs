//! Finds quotes around names and values, including those written as in HTML and URLs.

use memchr::memchr2;

/// Spellings of double and single quotes in HTML, JSON and URLs.
const SPELLED: [&str; 6] = ["&quot;", "&#34;", "&#39;", "&apos;", "\\u0022", "%22"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    Plain(u8),
    Spelled(&'static str),
}

impl Quote {
    /// Returns the quote that ends at a position.
    pub fn ends(bytes: &[u8], end: usize) -> Option<Self> {
        let before = &bytes[..end];
        match before.last()? {
            quote @ (b'"' | b'\'' | b'`') => Some(Self::Plain(*quote)),
            b';' | b'2' => SPELLED.into_iter().find(|quote| before.ends_with(quote.as_bytes())).map(Self::Spelled),
            _ => None,
        }
    }

    /// Returns the quote that starts at a position.
    pub fn begins(bytes: &[u8], start: usize) -> Option<Self> {
        let after = &bytes[start..];
        match after.first()? {
            quote @ (b'"' | b'\'' | b'`') => Some(Self::Plain(*quote)),
            b'&' | b'%' | b'\\' => {
                SPELLED.into_iter().find(|quote| after.starts_with(quote.as_bytes())).map(Self::Spelled)
            }
            _ => None,
        }
    }

    /// Returns the length of the quote in bytes.
    pub const fn size(&self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Spelled(text) => text.len(),
        }
    }

    /// Whether this is the quote that JSON uses.
    pub fn is_double(&self) -> bool {
        *self == Self::Plain(b'"')
    }

    /// Returns the end of the quoted text that starts at a position. The closing quote must have the same number of
    /// backslashes as the opening one. If the line has no such quote, the opening one was probably an apostrophe: the
    /// text ends at the first `"` or at the end of the line.
    pub fn end(&self, text: &str, start: usize, slashes: usize) -> usize {
        let bytes = text.as_bytes();
        let quote = match self {
            Self::Plain(quote) => *quote,
            Self::Spelled(quote) => {
                let line = &text[start..start + memchr::memchr(b'\n', &bytes[start..]).unwrap_or(bytes.len() - start)];
                return start + line.find(quote).unwrap_or(line.len());
            }
        };
        let mut at = start;
        // Search for the quote and the line end at once. The quote is usually near, while the line end may be far: JSON
        // on one line has many values.
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
        end - bytes[start..end].iter().rev().take_while(|byte| matches!(**byte, b'\\' | b'\r')).count()
    }
}
