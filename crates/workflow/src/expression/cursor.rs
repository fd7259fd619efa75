//! The lexer for expressions: operators, names, numbers and quoted strings.

use std::ops::Range;

use serde_json::Number;

use super::fault::{Fault, FaultKind};

/// Operators that other languages have, longer ones first.
const UNSUPPORTED: [&str; 20] =
    ["===", "!==", "<=", ">=", "=>", "??", "?.", "**", "<", ">", "+", "-", "*", "/", "%", "?", "|", "&", "=", "~"];

/// A position in a text, and the end of the part that is read.
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// The offset of the next byte.
    pub(super) at: usize,
    end: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, range: Range<usize>) -> Self {
        Self { text, at: range.start, end: range.end }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    pub(super) fn space(&mut self) {
        self.take(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    pub(super) fn is_at(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    /// Skips `sign` if it comes next. Returns whether it was skipped.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let stands = self.is_at(sign);
        if stands {
            self.at += sign.len();
        }
        stands
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads a name: letters, digits, `_` and `-`, beginning with a letter or `_`.
    pub(super) fn name(&mut self) -> Option<&'t str> {
        let begins = self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        begins.then(|| self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
    }

    /// Reads an index, as in `.0` and `[0]`.
    pub(super) fn index(&mut self) -> Option<usize> {
        let start = self.at;
        let index = self.take(|c| c.is_ascii_digit()).parse().ok();
        if index.is_none() {
            self.at = start;
        }
        index
    }

    /// Reads a number in JSON syntax.
    pub(super) fn number(&mut self) -> Result<Number, Fault> {
        let start = self.at;
        let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        self.eat("-");
        self.take(|c| c.is_ascii_digit());
        // Without a digit after it, the dot begins a part of a path, as in `.includes`.
        if self.rest().strip_prefix('.').is_some_and(digit) {
            self.at += 1;
            self.take(|c| c.is_ascii_digit());
        }
        let exponent = self.rest().strip_prefix(['e', 'E']).map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
        if let Some(rest) = exponent.filter(|rest| digit(rest)) {
            self.at = self.end - rest.len();
            self.take(|c| c.is_ascii_digit());
        }
        let number = serde_json::from_str(&self.text[start..self.at]);
        number.map_err(|_| Fault::syntax(start..self.at, "this is not a number"))
    }

    /// Reads a quoted string, and resolves its escapes.
    pub(super) fn quoted(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let quote = if self.eat("'") { '\'' } else { '"' };
        self.at = start + 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take(|c| c != quote && c != '\\'));
            match self.rest().chars().next() {
                None => return Err(Fault::syntax(start..self.end, "a quoted string is not closed")),
                Some('\\') => {
                    let escape = self.at;
                    self.at += 1;
                    let Some(character) = self.escaped() else {
                        let at = escape..self.at.max(escape + 1);
                        return Err(Fault::syntax(at, "invalid escape after a backslash"));
                    };
                    text.push(character);
                }
                Some(_) => {
                    self.at += 1;
                    return Ok(text);
                }
            }
        }
    }

    /// Reads the character after a backslash: a JSON escape or a single quote.
    fn escaped(&mut self) -> Option<char> {
        let escape = self.rest().chars().next()?;
        self.at += escape.len_utf8();
        match escape {
            '"' | '\'' | '\\' | '/' => Some(escape),
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'u' => match self.unit()? {
                high @ 0xd800..=0xdbff => {
                    let low = if self.eat("\\u") { self.unit()? } else { return None };
                    char::decode_utf16([high, low]).next()?.ok()
                }
                unit => char::from_u32(unit.into()),
            },
            _ => None,
        }
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unit = is_hex.then(|| u16::from_str_radix(digits, 16).ok())??;
        self.at += 4;
        Some(unit)
    }

    /// Returns the fault for unexpected text at the current position.
    pub(super) fn unexpected(&self, expected: &str) -> Fault {
        let is_operator = ["==", "!=", "&&", "||"].iter().any(|sign| self.is_at(sign));
        if let Some(sign) = UNSUPPORTED.iter().find(|sign| self.is_at(sign) && (!is_operator || sign.len() == 3)) {
            return self.unsupported(sign);
        }
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        let found = match &self.text[self.at..self.at + width] {
            "" => "the end of the expression".to_owned(),
            found => format!("`{found}`"),
        };
        Fault::syntax(self.at..self.at + width, format!("found {found}, expected {expected}"))
    }

    /// Returns the fault for an unsupported operator at the current position.
    pub(super) fn unsupported(&self, sign: &str) -> Fault {
        let message = format!("expressions do not support `{sign}`");
        Fault { kind: FaultKind::Unsupported, at: self.at..self.at + sign.len(), message }
    }
}
