//! Finds secret values of command-line options, such as `--password hunter2`, and passwords in a `.netrc`.

use memchr::memmem;

use super::harmless::{ends_value, is_harmless, is_harmless_beginning};
use super::quotes::Quote;
use super::span::{Matches, is_boundary};
use crate::redact::names::{is_secret_name, may_be_secret};

/// Options of `curl` that take a name and password.
const USERS: [&str; 3] = ["-u ", "--user ", "--proxy-user "];

/// How many bytes to search backward for `curl` before its option, or for `login` before a password in a `.netrc`.
const COMMAND: usize = 400;

/// Finds the secret values of options.
pub fn find(text: &str, found: &mut Matches) {
    let bytes = text.as_bytes();
    let mut until = 0;
    for at in memmem::find_iter(bytes, b"--").filter(|at| is_boundary(bytes, *at)) {
        let start = at + 2;
        let size = bytes[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        let name = &text[start..start + size];
        if at < until
            || !may_be_secret(name.as_bytes())
            || !text[start + size..].starts_with(' ')
            || !is_secret_name(name)
        {
            continue;
        }
        let from = start + size + 1;
        let quote =
            Quote::begins(bytes, from.min(bytes.len())).filter(|quote| matches!(quote, Quote::Plain(b'"' | b'\'')));
        let (from, end) = match quote {
            // This quote closes a text that ends with the name, so no value follows.
            Some(_) if matches!(bytes.get(from + 1), None | Some(b',' | b':' | b'}' | b']')) => continue,
            Some(_) if text[from + 1..].starts_with('-') || is_harmless_beginning(&text[from + 1..]) => continue,
            Some(quote) => (from + 1, quote.end(text, from + 1, 0)),
            None => {
                let end = text[from..].find(ends_value).map_or(text.len(), |size| from + size);
                (from, from + text[from..end].trim_end_matches(['\\', ',', ';', '.', ')', ']', '}']).len())
            }
        };
        let value = &text[from..end];
        let is_placeholder = value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            || (quote.is_none() && value.contains('='));
        if !value.is_empty() && !value.starts_with('-') && !is_placeholder && !is_harmless(value) {
            until = end;
            found.hide(from..end);
        }
    }
    users(text, found);
    netrc(text, found);
}

/// Finds the passwords given to `curl` together with a user name.
fn users(text: &str, found: &mut Matches) {
    for option in USERS {
        for at in memmem::find_iter(text.as_bytes(), option).filter(|at| text[..*at].ends_with(' ')) {
            let before = &text[text.floor_char_boundary(at.saturating_sub(COMMAND))..at];
            let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
            if !line.contains("curl") {
                continue;
            }
            let from = at + option.len();
            let from = from + usize::from(text[from..].starts_with(['"', '\'']));
            let end = text[from..].find(ends_value).map_or(text.len(), |size| from + size);
            if let Some((user, password)) = text[from..end].split_once(':')
                && !password.is_empty()
                && !is_harmless(password)
            {
                found.hide(from + user.len() + 1..end);
            }
        }
    }
}

/// Finds the passwords in a `.netrc`: `machine HOST login NAME password WORD`.
fn netrc(text: &str, found: &mut Matches) {
    const PASSWORD: &str = " password ";
    for at in memmem::find_iter(text.as_bytes(), PASSWORD) {
        let before = &text[text.floor_char_boundary(at.saturating_sub(COMMAND))..at];
        let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let mut words = line.split_whitespace().rev().skip(1);
        if words.next() != Some("login") {
            continue;
        }
        let from = at + PASSWORD.len();
        let end = text[from..].find(ends_value).map_or(text.len(), |size| from + size);
        if end > from && !is_harmless(&text[from..end]) {
            found.hide(from..end);
        }
    }
}
