//! Tokens that are known by how they begin.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::span::{Span, is_boundary};

/// How tokens begin that nothing else begins as.
const CLEAR: &[&str] = &[
    "AIza",
    "dop_v1_",
    "eyJ",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "lin_api_",
    "rk_live_",
    "shpat_",
    "sk_live_",
    "sk_test_",
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
];

/// How tokens begin whose first letters words have too: the rest has to be long, and random.
const VAGUE: &[&str] = &[
    "AKIA", "ASIA", "SG.", "gsk_", "hf_", "npm_", "ntn_", "pat-", "pk_live_", "pplx-", "r8_", "sbp_", "secret_", "sk-",
    "tvly-", "xai-",
];

/// The schemes of `Authorization` whose credentials are known where they stand without that name.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// Characters of the shortest rest of a token.
const SHORTEST: usize = 8;

/// The bytes that begin any of these.
const FIRST: [bool; 256] = {
    let mut first = [false; 256];
    let mut n = 0;
    while n < CLEAR.len() {
        first[CLEAR[n].as_bytes()[0] as usize] = true;
        n += 1;
    }
    n = 0;
    while n < VAGUE.len() {
        first[VAGUE[n].as_bytes()[0] as usize] = true;
        n += 1;
    }
    first[b'b' as usize] = true;
    first[b'B' as usize] = true;
    first
};

/// Finds the tokens in a text.
pub fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| FIRST[usize::from(*byte)]) {
        at += next;
        let span = if is_boundary(bytes, at) { token(text, at).or_else(|| credentials(text, at)) } else { None };
        match span {
            Some(span) => {
                at = span.end;
                spans.push(span.into());
            }
            None => at += 1,
        }
    }
}

/// Returns where the last word of a text that was cut off is the beginning of a token, however short.
pub fn begun_at_end(text: &str) -> Option<Range<usize>> {
    let start =
        text.rfind(|c: char| !is_in_word(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let word = &text[start..];
    let begins = CLEAR.iter().chain(VAGUE).any(|begin| word.starts_with(begin));
    begins.then_some(start..text.len())
}

fn token(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text[at..];
    let begins = |list: &[&str]| list.iter().find(|begin| rest.starts_with(**begin)).map(|begin| begin.len());
    let end = |from: usize| {
        let size = rest[from..].find(|c: char| !is_in_word(c)).unwrap_or(rest.len() - from);
        from + rest[from..from + size].trim_end_matches(['.', '-']).len()
    };
    if let Some(from) = begins(CLEAR) {
        let end = end(from);
        return (end - from >= SHORTEST).then_some(at..at + end);
    }
    let from = begins(VAGUE)?;
    let end = end(from);
    let word = &rest[from..end];
    let is_random = match rest.starts_with('A') {
        // An id of AWS has capitals and digits alone.
        true => word.len() >= 12 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
        false => word
            .split(['-', '_', '.'])
            .any(|part| part.len() >= 20 || part.len() >= 16 && part.bytes().any(|byte| byte.is_ascii_digit())),
    };
    is_random.then_some(at..at + end)
}

/// Returns the credentials behind the name of a scheme.
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
        // The id of an access key stays; its secret is hidden already.
        _ if word.starts_with("mcpkg_") => false,
        _ => word.len() >= SHORTEST && word.bytes().any(|byte| byte.is_ascii_digit()),
    };
    is_secret.then_some(at + from..at + end)
}

/// Whether a word is a name and a password in base64, as HTTP's Basic scheme has them.
pub fn is_name_and_password(word: &str) -> bool {
    word.len() >= 4
        && STANDARD.decode(word).is_ok_and(|said| said.contains(&b':') && std::str::from_utf8(&said).is_ok())
}

fn is_in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}
