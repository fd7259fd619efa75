//! Hides secrets in logs, events, plans and errors, and detects them in other texts.

mod escapes;
mod names;
mod pieces;
mod resolved;
mod shapes;

#[cfg(test)]
#[path = "../../../../tests/support/secrets.rs"]
mod examples;

use std::borrow::Cow;

use serde_json::Value;

use shapes::{ACCESS_KEY, ACCESS_KEY_ID};

pub use names::is_secret_name;
pub use pieces::Pieces;
pub use resolved::{HIDDEN, SHORTEST as SHORTEST_HIDDEN, Secrets, learn};

/// Hides the secrets in a text: passwords and tokens in URLs, the secrets of access keys, the values of secrets that
/// this process has read, and secrets with a known format, such as a private key or the value after `password:`.
pub fn redact(text: &str) -> String {
    redacted(text).into_owned()
}

/// Like [`redact`], for the beginning and end of a text. Also hides possible parts of a secret at the cut.
pub fn redact_at_cut(head: &str, tail: &str) -> (String, String) {
    let (head, tail) = resolved::hidden_at_cut(head, tail);
    (shapes::hidden_in_beginning(&addressed(&head)), shapes::hidden_in_end(&addressed(&tail)))
}

/// Like [`redact`], for a URL that will still be used: hides only names and passwords before a host, secrets of access
/// keys, and values of secrets that this process has read.
pub fn without_password(address: &str) -> String {
    addressed(&resolved::hidden_in(address)).into_owned()
}

/// Hides the secrets in all strings of `value`, and the strings and lists of strings in fields with names like
/// `password`.
pub fn hide_in(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(hidden) = redacted(text) {
                *text = hidden;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide_in),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if is_secret_name(name) && !text.is_empty() => HIDDEN.clone_into(text),
                    Value::Array(values) if is_secret_name(name) => values.iter_mut().for_each(hide_in_list),
                    value => hide_in(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Like [`hide_in`], for an element of a list in a field with a name like `passwords`.
fn hide_in_list(value: &mut Value) {
    match value {
        Value::String(text) if !shapes::is_harmless_in_list(text) => HIDDEN.clone_into(text),
        value => hide_in(value),
    }
}

/// Like [`redact`], but does not copy a text without secrets.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let safe = known_in(text);
    // A color sequence in the middle of a word can hide a secret. If the text without sequences contains one, return
    // that text redacted.
    let plain = escapes::without(&safe).and_then(|plain| {
        let hidden = known_in(&plain);
        (hidden != plain).then(|| hidden.into_owned())
    });
    plain.map_or(safe, Cow::Owned)
}

/// Hides the secrets that can be found without removing escape sequences.
fn known_in(text: &str) -> Cow<'_, str> {
    then(then(resolved::hidden_in(text), addressed), shapes::hidden_in)
}

/// Hides the passwords in URLs and the secrets of access keys.
fn addressed(text: &str) -> Cow<'_, str> {
    match text.contains("://") || text.contains(ACCESS_KEY) {
        true => Cow::Owned(keys(&urls(text)).into_owned()),
        false => Cow::Borrowed(text),
    }
}

/// Applies the next pass to the result of an earlier one.
fn then<'t>(text: Cow<'t, str>, next: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    let changed = match next(&text) {
        Cow::Owned(changed) => Some(changed),
        Cow::Borrowed(_) => None,
    };
    changed.map_or(text, Cow::Owned)
}

fn urls(text: &str) -> String {
    let mut parts = text.split("://");
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.find(|c: char| c.is_whitespace() || c == '\'' || c == '"').unwrap_or(part.len());
        let (host, rest) = part.split_at(host_end(&part[..word]));
        let names_user = names_user(&safe);
        safe.push_str("://");
        match host.rsplit_once('@') {
            Some((user, host)) if user.contains(':') || !names_user => safe.extend([HIDDEN, "@", host]),
            _ => safe.push_str(host),
        }
        safe.push_str(rest);
    }
    safe
}

/// Whether a single word before the host in a URL is a user name, as for ssh and databases. For other schemes, the word
/// may just as well be a token. `before` is the text up to `://`.
pub fn names_user(before: &str) -> bool {
    ["ssh", "postgres", "postgresql", "mysql", "mariadb", "mongodb", "mongodb+srv"]
        .iter()
        .any(|scheme| before.ends_with(scheme))
}

/// Returns the position where the host ends. `address` is a URL without its scheme. The host may follow a name and a
/// password.
///
/// A password may contain an unencoded `/`. In that case, the text between `:` and `/` is not a port, and an `@`
/// follows.
fn host_end(address: &str) -> usize {
    let slash = address.find('/').unwrap_or(address.len());
    let (host, path) = address.split_at(slash);
    let is_port = |(_, port): (&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    match path.rfind('@') {
        Some(at) if !host.contains(['@', '[']) && !host.split_once(':').is_none_or(is_port) => {
            let host = slash + at + 1;
            address[host..].find('/').map_or(address.len(), |end| host + end)
        }
        _ => slash,
    }
}

/// Hides the secrets of access keys. Keeps the id of each key, so that a reader knows which key to revoke.
fn keys(text: &str) -> Cow<'_, str> {
    let mut parts = text.split(ACCESS_KEY);
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut safe = first.to_owned();
    for part in parts {
        safe.push_str(ACCESS_KEY);
        match part.split_at_checked(ACCESS_KEY_ID + 1) {
            Some((id, rest)) if is_id(id) => {
                let secret = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                safe.extend([id, if secret > 0 { HIDDEN } else { "" }, &rest[secret..]]);
            }
            _ => safe.push_str(part),
        }
    }
    Cow::Owned(safe)
}

/// Whether a text is the id of a key followed by `_`.
fn is_id(text: &str) -> bool {
    text.strip_suffix('_').is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The minimum length of a word that counts as a token just by its look.
const SHORTEST: usize = 20;

/// Whether a text contains a word that looks like a token or key. A false alarm is better than a stored secret.
pub fn holds_token(text: &str) -> bool {
    words(text).any(|(start, word)| {
        // The commit of a pinned package and the digest of an image are public.
        let is_pinned = text[..start].ends_with('@') || text[..start].ends_with("sha256:");
        is_token(word) && !(is_pinned && is_hex(word))
    })
}

/// Whether a text contains a secret that [`redact`] would hide, or a token of a well-known service.
pub fn holds_secret(text: &str) -> bool {
    redacted(text) != text || known_tokens(text).next().is_some()
}

/// Returns the words that start like the tokens of well-known services, including JSON Web Tokens. Ids and digests do
/// not count, even if they look random.
pub fn known_tokens(text: &str) -> impl Iterator<Item = &str> {
    words(text).map(|(_, word)| word).filter(|word| is_known(word))
}

/// Returns the words that may be tokens, trimmed, each with the position where the untrimmed word starts.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = text[from..].find(is_in_word).map(|at| from + at)?;
        let end = text[start..].find(|c: char| !is_in_word(c)).map_or(text.len(), |at| start + at);
        from = end;
        Some((start, text[start..end].trim_matches(['.', '-', '+'])))
    })
}

fn is_known(word: &str) -> bool {
    shapes::rest_of_token(word).is_some_and(|rest| rest.len() >= 8)
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_token(word: &str) -> bool {
    if is_known(word) {
        return true;
    }
    let has = |is: fn(&u8) -> bool| word.bytes().filter(is).count();
    let (upper, lower, digits) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase), has(u8::is_ascii_digit));
    let dense: String = word.chars().filter(|c| *c != '-').collect();
    let is_random = word.len() >= SHORTEST && upper > 1 && lower > 1 && digits > 1;
    is_random || (dense.len() >= 32 && is_hex(&dense) && digits > 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_hidden() {
        assert_eq!(redact("fetch 'https://me:pw@h:8/o/r.git' x"), "fetch 'https://***@h:8/o/r.git' x");
        assert_eq!(redact("ssh://git@h/o and https://a:b@c"), "ssh://git@h/o and https://***@c");
        assert_eq!(redact("postgres://me@h/d postgres://me:b@h/d"), "postgres://me@h/d postgres://***@h/d");
        assert_eq!(redact("me@h:o/r https://token@h/o"), "me@h:o/r https://***@h/o");
        assert_eq!(redact("https://me:p/w@d@h/o x@y"), "https://***@h/o x@y");
        for plain in ["https://h:8080/a@b", "https://h/a@b:c", "http://[::1]:80/a@b", "https://h/@scope/name"] {
            assert_eq!(redact(plain), plain);
        }
    }

    #[test]
    fn secrets_in_json_are_hidden() {
        let mut value = serde_json::json!({
            "password": "x", "set-cookie": ["sid=1", "b"], "secrets": ["API_KEY"], "list": ["token=x"], "n": 1
        });
        hide_in(&mut value);
        let expected = serde_json::json!({
            "password": "***", "set-cookie": ["***", "***"], "secrets": ["API_KEY"], "list": ["token=***"], "n": 1
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn tokens_are_known_by_their_look() {
        for token in [
            "ghp_0123456789abcdef",
            "--key=sk-proj-abcdefgh",
            "https://h/s/550e8400-e29b-41d4-a716-446655440000/mcp",
            "0123456789abcdef0123456789abcdef",
            "q8ZrT2mPx7LkW9vNc4Yb1",
        ] {
            assert!(holds_token(token), "{token}");
        }
        for plain in [
            "@modelcontextprotocol/server-github@2025.4.8",
            "git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567",
            "image@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "/home/me/projects/a-long-name-of-a-folder-2026",
            "--transport",
            "sk-",
        ] {
            assert!(!holds_token(plain), "{plain}");
        }
    }

    #[test]
    fn secrets_of_access_keys_are_hidden() {
        let secret = "0123456789abcdef".repeat(4);
        let key = format!("mcpkg_00ff00ff00ff_{secret}");
        assert_eq!(redact(&key), "mcpkg_00ff00ff00ff_***");
        assert_eq!(
            redact(&format!("Authorization: Bearer {key}, \"{key}\" {{\"a\":\"{key}\"}}")),
            "Authorization: Bearer mcpkg_00ff00ff00ff_***, \"mcpkg_00ff00ff00ff_***\" {\"a\":\"mcpkg_00ff00ff00ff_***\"}"
        );
        assert_eq!(redact(&format!("https://h/?k={key}&b=1")), "https://h/?k=mcpkg_00ff00ff00ff_***&b=1");
        // A truncated key is hidden too, and so is a key that directly follows another prefix.
        assert_eq!(redact(&key[..30]), "mcpkg_00ff00ff00ff_***");
        assert_eq!(redact(&format!("mcpkg_{key}")), "mcpkg_mcpkg_00ff00ff00ff_***");
        for other in
            ["mcpkg_", "mcpkg_db", "mcpkg_00ff00ff00ff_", "mcpkg_code_review_for_all", "mcpkg_é00ff00ff00f_x", ""]
        {
            assert_eq!(redact(other), other);
        }
    }
}
