//! Finds the name of a secret before its value.

use super::quotes::Quote;
use super::span::{begins_colour, ends_colour, is_escape};
use crate::redact::names::{is_secret_name, is_secret_pair, may_be_secret};

/// The longest name that is examined.
const LONGEST: usize = 80;

/// The most blanks between a name and its value.
const BLANKS: usize = 40;

/// The name of a secret before a separator such as `=`.
pub struct Name<'t> {
    pub start: usize,
    pub word: &'t str,
    /// The number of backslashes before each double quote around the name; `None` without double quotes.
    pub quotes: Option<usize>,
    /// Whether the name is in quotes of any kind.
    pub is_quoted: bool,
}

impl<'t> Name<'t> {
    /// Returns the name of a secret before a separator, if there is one.
    pub fn before(text: &'t str, separator: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut end = separator;
        let blanks = bytes[..end].iter().rev().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        end = ends_colour(bytes, end - blanks).unwrap_or(end - blanks);
        let quote = Quote::ends(bytes, end);
        let mut quotes = None;
        if let Some(quote) = &quote {
            let slashes = bytes[..end - quote.size()].iter().rev().take_while(|byte| **byte == b'\\').count();
            end -= quote.size() + slashes;
            quotes = Some(slashes).filter(|_| quote.is_double());
        }
        let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let size = bytes[..end].iter().rev().take(LONGEST).take_while(|byte| is_in_name(byte)).count();
        let mut start = end - size;
        let name = &bytes[start..end];
        if !may_be_secret(name) && !is_short_name(bytes, start, name, separator, quotes.is_some()) {
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
            // This is a message, not a name and its value: `expected token: ...`.
            Some(before)
                if before.to_ascii_lowercase().ends_with("expected") || before.eq_ignore_ascii_case("found") =>
            {
                false
            }
            Some(before) if is_secret_pair(before, word) => true,
            _ => {
                is_secret_name(word)
                    || is_auth(word)
                    || is_short_name(bytes, start, word.as_bytes(), separator, quotes.is_some())
            }
        };
        is_secret.then_some(Self { start, word, quotes, is_quoted: quote.is_some() })
    }

    /// For the separator `>`, whether the name is the tag of an XML element. Always true for other separators.
    pub fn is_in_element(&self, bytes: &[u8], separator: usize) -> bool {
        bytes[separator] != b'>'
            || self.start.checked_sub(1).is_some_and(|before| bytes[before] == b'<')
                && self.start + self.word.len() == separator
    }

    /// Whether the name is the first word of its line, as in a settings file.
    pub fn begins_line(&self, text: &str) -> bool {
        let bytes = text[..self.start].trim_end_matches(['"', '\'']).as_bytes();
        let blanks = bytes.iter().rev().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t' | b'-')).count();
        matches!(bytes[..bytes.len() - blanks].last(), None | Some(b'\n'))
    }

    /// Whether the value takes up the rest of the line, as in a header, or may consist of several words.
    pub fn is_of_line(&self) -> bool {
        let last = self.word.rsplit(['-', '_', '.']).next().unwrap_or_default();
        ["authorization", "cookie", "cookies", "mnemonic", "passphrase"]
            .iter()
            .any(|known| last.eq_ignore_ascii_case(known))
    }

    /// Whether the value counts as a secret only if it is a name and password in base64, as in a registry's settings.
    pub fn is_auth(&self) -> bool {
        is_auth(self.word)
    }

    /// Whether the value counts as a secret only if it is long and random, as in a JSON Web Key.
    pub fn is_number(&self) -> bool {
        matches!(self.word, "d" | "p" | "q" | "dp" | "dq" | "qi" | "k")
    }
}

/// Whether this is the key for credentials in a registry's settings.
fn is_auth(word: &str) -> bool {
    matches!(word, "auth" | "_auth")
}

/// Whether a short name is the name of a secret in its context: `;Pwd=` in a connection string, `?sig=` in a signed
/// URL, `"d":` in a JSON Web Key.
fn is_short_name(bytes: &[u8], start: usize, name: &[u8], separator: usize, is_json: bool) -> bool {
    let before = start.checked_sub(1).map(|at| bytes[at]);
    match name {
        b"sig" | b"Signature" | b"X-Amz-Signature" | b"X-Goog-Signature" => {
            matches!(before, Some(b'?' | b'&')) && bytes[separator] == b'='
        }
        b"d" | b"p" | b"q" | b"dp" | b"dq" | b"qi" | b"k" => is_json && bytes[separator] == b':',
        _ if name.eq_ignore_ascii_case(b"pwd") => bytes[separator] == b'=' && before == Some(b';') || is_json,
        _ => false,
    }
}

/// Returns the start of the value after a separator, skipping blanks and a color sequence.
pub fn after_blanks(bytes: &[u8], after: usize) -> usize {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let blanks = bytes[after..].iter().take(BLANKS).take_while(is_blank).count();
    begins_colour(bytes, after + blanks).unwrap_or(after + blanks)
}
