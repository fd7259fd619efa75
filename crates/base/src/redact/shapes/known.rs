//! Finds tokens with known prefixes, and secrets in URLs of webhooks and databases.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::{memchr, memmem};

use super::prefixes::{CLEAR, FIRST, VAGUE, rest_of};
use super::span::{Matches, is_boundary};

/// The schemes of `Authorization` headers whose credentials are recognized even without the header's name.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// The minimum length of a token after its prefix.
const SHORTEST: usize = 8;
/// The minimum length of a token's random-looking part that contains a digit.
const RANDOM: usize = 16;
/// The minimum length of a token's random-looking part without a digit.
const LONG: usize = 20;

/// The longest base64 text that is decoded to look for a name and password.
const LONGEST: usize = 1 << 10;

/// The longest password in a connection string, in bytes.
const NEAR: usize = 128;

/// URLs that end in a secret: knowing such a URL is enough to send messages.
const WEBHOOKS: [&str; 5] = [
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhookb2/",
];

/// The text after the password in connection strings of Go's MySQL driver and of Oracle.
const HOSTS: [&str; 3] = ["@tcp(", "@unix(", "@//"];

/// Finds the tokens in a text.
pub fn find(text: &str, found: &mut Matches) {
    let bytes = text.as_bytes();
    let mut word = Word::default();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| FIRST[usize::from(*byte)] || matches!(byte, b'b' | b'B'))
    {
        at += next;
        let span = match is_boundary(bytes, at) {
            true => token(text, at, &mut word).or_else(|| credentials(text, at)),
            false => None,
        };
        match span {
            Some(span) => {
                at = span.end;
                found.hide(span);
            }
            None => at += 1,
        }
    }
    addresses(text, found);
}

/// Finds the secret parts of webhook URLs, and the passwords in connection strings.
fn addresses(text: &str, found: &mut Matches) {
    let is_in_path = |c: char| is_in_word(c) || matches!(c, '/' | '@' | '%' | '~' | '=');
    for webhook in WEBHOOKS {
        let mut until = 0;
        for start in memmem::find_iter(text.as_bytes(), webhook).map(|at| at + webhook.len()) {
            if start < until {
                continue;
            }
            let size = text[start..].find(|c: char| !is_in_path(c)).unwrap_or(text.len() - start);
            if size >= SHORTEST {
                until = start + size;
                found.hide(start..until);
            }
        }
    }
    for host in HOSTS {
        for end in memmem::find_iter(text.as_bytes(), host) {
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ':' | '/' | '=' | '&');
            let near = text.floor_char_boundary(end.saturating_sub(NEAR));
            let Some(start) = text[near..end].rfind(ends).map(|at| near + at + 1) else { continue };
            let separator = text.as_bytes()[start - 1];
            if start < end && (separator == b':' || (separator == b'/' && host == "@//")) {
                found.hide(start..end);
            }
        }
    }
}

/// Returns the last word of a truncated text, if it is the start of a token, however short.
pub fn begun_at_end(text: &str) -> Option<Range<usize>> {
    let start =
        text.rfind(|c: char| !is_in_word(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    rest_of(&text[start..]).map(|_| start..text.len())
}

/// Facts about the current word. A long word is examined only once, even if many tokens may start in it.
#[derive(Default)]
struct Word {
    end: usize,
    /// The start of the word's last random-looking part.
    random: Option<usize>,
}

impl Word {
    /// Examines the word at a position, unless that is already done.
    fn look(&mut self, text: &str, at: usize) {
        if at < self.end {
            return;
        }
        self.end = at + text[at..].find(|c: char| !is_in_word(c)).unwrap_or(text.len() - at);
        let mut end = self.end;
        self.random = text[at..self.end].rsplit(['-', '_', '.']).find_map(|part| {
            let start = end - part.len();
            end = start.saturating_sub(1);
            let has_digit = || part.bytes().any(|byte| byte.is_ascii_digit());
            (part.len() >= LONG || (part.len() >= RANDOM && has_digit())).then_some(start)
        });
    }
}

fn token(text: &str, at: usize, word: &mut Word) -> Option<Range<usize>> {
    let rest = &text[at..];
    let begins = |list: &[&str]| list.iter().find(|begin| rest.starts_with(**begin)).map(|begin| begin.len());
    let (is_clear, from) = match begins(CLEAR) {
        Some(size) => (true, at + size),
        None => (false, at + begins(VAGUE)?),
    };
    word.look(text, at);
    if word.end < from {
        return None;
    }
    // Only computed for tokens, because trimming can be slow.
    let trimmed = || from + text[from..word.end].trim_end_matches(['.', '-']).len();
    let is_random = match rest.starts_with('A') {
        true if !is_clear => {
            // AWS ids consist of capital letters and digits.
            let size =
                text[from..].bytes().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count();
            size >= 12 && from + size == trimmed()
        }
        _ if is_clear => trimmed() - from >= SHORTEST,
        // The prefix may end in the middle of a part, because not every prefix ends with a separator.
        _ => {
            let part = text[from..word.end].split(['-', '_', '.']).next().unwrap_or_default();
            let has_digit = || part.bytes().any(|byte| byte.is_ascii_digit());
            word.random.is_some_and(|start| start >= from)
                || part.len() >= LONG
                || (part.len() >= RANDOM && has_digit())
        }
    };
    is_random.then(|| at..trimmed())
}

/// Returns the credentials after the name of a scheme.
fn credentials(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let scheme = SCHEMES.iter().find(|scheme| {
        rest.get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme))
            && rest[scheme.len()..].starts_with(' ')
    })?;
    let from = rest.len() - rest[scheme.len()..].trim_start_matches(' ').len();
    let is_credential = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '+' | '/' | '=');
    let end = rest[from..].find(|c: char| !is_credential(c)).map_or(rest.len(), |end| from + end);
    let word = &rest[from..end];
    let is_secret = match *scheme {
        "basic" => is_name_and_password(word),
        // The secret of an access key is already redacted, and its id should stay.
        _ if word.starts_with("mcpkg_") => false,
        _ => word.len() >= SHORTEST && word.bytes().any(|byte| byte.is_ascii_digit()),
    };
    is_secret.then_some(at + from..at + end)
}

/// Whether a word is a name and password in base64, as in HTTP Basic authentication.
pub fn is_name_and_password(word: &str) -> bool {
    (4..=LONGEST).contains(&word.len())
        && STANDARD.decode(word).is_ok_and(|said| memchr(b':', &said).is_some() && std::str::from_utf8(&said).is_ok())
}

fn is_in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}
