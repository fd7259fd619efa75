//! Recognizes text after a secret's name that is not its value: a reference, a variable, a type, a word of prose, or a
//! redacted value.

use super::prefixes::{ACCESS_KEY, ACCESS_KEY_ID};
use crate::redact::resolved::HIDDEN;

/// The prefixes of mcpkg's references to secrets.
const REFERENCES: [&str; 3] = ["env:", "file:", "command:"];

/// The most bytes to examine for the end of a type's or function's name, such as `std::string::String`.
const LONGEST: usize = 120;

/// Words that may follow a name without being its value: types, and words of prose.
const WORDS: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "are",
    "array",
    "as",
    "at",
    "await",
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
    "include",
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
    "omit",
    "on",
    "one",
    "only",
    "option",
    "optional",
    "or",
    "required",
    "same-origin",
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

/// Whether the text after a secret's name is not its value.
pub fn is_harmless(value: &str) -> bool {
    let word = value.trim_end_matches(['.', ':', '?', '!']);
    is_harmless_beginning(value)
        || is_variable(value)
        || (word.len() <= 12 && WORDS.binary_search(&word.to_ascii_lowercase().as_str()).is_ok())
}

/// Whether a string in a list after a secret's name is not a secret. Such lists also contain names of secrets, and
/// types.
pub fn is_harmless_in_list(value: &str) -> bool {
    let is_in_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = value.starts_with(|c: char| c.is_ascii_uppercase()) && value.bytes().all(is_in_name);
    value.is_empty() || is_name || is_harmless(value)
}

/// Whether the start of a text already shows that it is not a secret's value. The text may continue far beyond the
/// value, so only its start is examined.
pub fn is_harmless_beginning(text: &str) -> bool {
    text.starts_with(HIDDEN)
        || REFERENCES.iter().any(|reference| text.starts_with(reference))
        || text.starts_with(['{', '[', '(', '<'])
        || ["${", "$(", "&'", "&str", "&mut", "%s", "%d", "%v"].iter().any(|begin| text.starts_with(begin))
        || is_hidden_key(text)
}

/// Whether a text starts with an access key that is already redacted.
fn is_hidden_key(text: &str) -> bool {
    let id = text.strip_prefix(ACCESS_KEY).and_then(|rest| rest.split_at_checked(ACCESS_KEY_ID + 1));
    id.is_some_and(|(id, rest)| id.ends_with('_') && rest.starts_with(HIDDEN))
}

/// Whether a value is a shell variable, `$NAME` or `%NAME%`.
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

/// Whether the text after a secret's name starts with a type or a call, as in source code. The end of the text may be
/// far away.
pub fn is_code(text: &str, has_blank: bool) -> bool {
    let count = |is: fn(&u8) -> bool| text.bytes().take(LONGEST).take_while(is).count();
    let name = count(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':'));
    let letters = count(u8::is_ascii_alphabetic);
    let is_type = text.starts_with(|c: char| c.is_ascii_uppercase());
    match text.as_bytes().get(name) {
        Some(b'<') => is_type,
        Some(b'(') => has_blank && name > 0,
        Some(b'[') => has_blank && text[..name].contains('.'),
        _ => {
            let closes = text[letters..].bytes().take_while(|byte| b"\\,;)]}".contains(byte)).count();
            let after = text[letters + closes..].chars().next();
            is_type && text[letters..].starts_with([',', ')', ';']) && after.is_none_or(ends_value)
        }
    }
}

/// Whether a character ends an unquoted value.
pub fn ends_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&' | '\u{1b}')
}
