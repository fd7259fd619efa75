//! What no log, event, plan or error may show: the one function that takes it out of a text.

use std::borrow::Cow;

/// What stands in the place of what was taken out.
const HIDDEN: &str = "***";

/// How an access key begins. After it stand its id, 12 hex digits, `_`, and its secret.
const KEY: &str = "mcpkg_";
const KEY_ID: usize = 12;

/// Returns a text without the passwords and tokens that its URLs hold, and without the secrets of access keys.
pub fn redact(text: &str) -> String {
    keys(&urls(text)).into_owned()
}

fn urls(text: &str) -> String {
    let mut parts = text.split("://");
    let mut safe = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"').unwrap_or(part.len());
        let (host, rest) = part.split_at(end);
        // With ssh, a name alone is a user's; elsewhere it is as often a token.
        let is_ssh = safe.ends_with("ssh");
        safe.push_str("://");
        match host.rsplit_once('@') {
            Some((user, host)) if user.contains(':') || !is_ssh => safe.extend([HIDDEN, "@", host]),
            _ => safe.push_str(host),
        }
        safe.push_str(rest);
    }
    safe
}

/// The id stays, so that a reader can tell which key it was and revoke it.
fn keys(text: &str) -> Cow<'_, str> {
    let mut parts = text.split(KEY);
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut safe = first.to_owned();
    for part in parts {
        safe.push_str(KEY);
        match part.split_at_checked(KEY_ID + 1) {
            Some((id, rest)) if is_id(id) => {
                let secret = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                safe.extend([id, if secret > 0 { HIDDEN } else { "" }, &rest[secret..]]);
            }
            _ => safe.push_str(part),
        }
    }
    Cow::Owned(safe)
}

/// Whether it is a key's id with the `_` after it.
fn is_id(text: &str) -> bool {
    text.strip_suffix('_').is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_taken_out() {
        assert_eq!(redact("fetch 'https://me:pw@h:8/o/r.git' x"), "fetch 'https://***@h:8/o/r.git' x");
        assert_eq!(redact("ssh://git@h/o and https://a:b@c"), "ssh://git@h/o and https://***@c");
        assert_eq!(redact("me@h:o/r https://token@h/o"), "me@h:o/r https://***@h/o");
    }

    #[test]
    fn secrets_of_access_keys_are_taken_out() {
        let secret = "0123456789abcdef".repeat(4);
        let key = format!("mcpkg_00ff00ff00ff_{secret}");
        assert_eq!(redact(&key), "mcpkg_00ff00ff00ff_***");
        assert_eq!(
            redact(&format!("Authorization: Bearer {key}, \"{key}\" {{\"a\":\"{key}\"}}")),
            "Authorization: Bearer mcpkg_00ff00ff00ff_***, \"mcpkg_00ff00ff00ff_***\" {\"a\":\"mcpkg_00ff00ff00ff_***\"}"
        );
        assert_eq!(redact(&format!("https://h/?k={key}&b=1")), "https://h/?k=mcpkg_00ff00ff00ff_***&b=1");
        // One that was cut off is hidden too, and one beside another.
        assert_eq!(redact(&key[..30]), "mcpkg_00ff00ff00ff_***");
        assert_eq!(redact(&format!("mcpkg_{key}")), "mcpkg_mcpkg_00ff00ff00ff_***");
        for other in
            ["mcpkg_", "mcpkg_db", "mcpkg_00ff00ff00ff_", "mcpkg_code_review_for_all", "mcpkg_é00ff00ff00f_x", ""]
        {
            assert_eq!(redact(other), other);
        }
    }
}
