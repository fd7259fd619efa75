//! Quotes around names and values, also as HTML and addresses write them.

use memchr::memchr2;

/// Double and single quotes as HTML, JSON and addresses spell them.
const SPELLED: [&str; 6] = ["&quot;", "&#34;", "&#39;", "&apos;", "\\u0022", "%22"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    Plain(u8),
    Spelled(&'static str),
}

impl Quote {
    /// Returns the quote that ends at a place.
    pub fn ends(bytes: &[u8], end: usize) -> Option<Self> {
        let before = &bytes[..end];
        match before.last()? {
            quote @ (b'"' | b'\'' | b'`') => Some(Self::Plain(*quote)),
            b';' | b'2' => SPELLED.into_iter().find(|quote| before.ends_with(quote.as_bytes())).map(Self::Spelled),
            _ => None,
        }
    }

    /// Returns the quote that begins at a place.
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

    /// Returns how many bytes it has.
    pub const fn size(&self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Spelled(text) => text.len(),
        }
    }

    /// Whether JSON has it around texts.
    pub fn is_double(&self) -> bool {
        *self == Self::Plain(b'"')
    }

    /// Returns where the text in quotes ends that begins at a place: at the quote that has as many backslashes before it as the one
    /// before the text. Where no such quote is in its line, it is at the first other one: what began the text was an apostrophe.
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
        end - bytes[start..end].iter().rev().take_while(|byte| matches!(**byte, b'\\' | b'\r')).count()
    }
}
