//! Recognizes names of fields, variables, headers and options with secret values.

/// Words in the name of a field with a secret value.
const SECRET_WORDS: &[&str] = &[
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "mnemonic",
];

/// Word endings in names of secrets: `PGPASSWORD`, `authtoken`.
const SECRET_ENDS: &[&str] = &["password", "passwd", "passphrase", "secret", "token", "apikey"];

/// Words before `pass` in the name of a password. `pass` alone is common in test results.
const BEFORE_PASS: &[&str] = &[
    "admin", "auth", "database", "db", "email", "ftp", "ldap", "mail", "mongo", "mysql", "pg", "postgres", "proxy",
    "redis", "root", "smtp", "ssh", "user",
];

/// Pairs of words in names of secrets: `api_key`.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("signing", "key"),
    ("account", "key"),
    ("encryption", "key"),
    ("master", "key"),
    ("subscription", "key"),
    ("app", "key"),
];

/// Words in names of tokens that are not secret: `next_page_token`.
const HARMLESS: &[&str] =
    &["page", "next", "continuation", "cursor", "count", "type", "id", "name", "expires", "length", "file", "path"];

/// Whether the name of a field shows that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let has = |word: &str| words.iter().any(|known| known == word);
    if words.iter().any(|word| HARMLESS.contains(&word.as_str())) {
        return false;
    }
    SECRET_WORDS.iter().any(|word| has(word))
        || words.last().is_some_and(|last| SECRET_ENDS.iter().any(|end| last.ends_with(end)))
        || words
            .windows(2)
            .any(|pair| pair[1] == "pwd" || (pair[1] == "pass" && BEFORE_PASS.contains(&pair[0].as_str())))
        || SECRET_PAIRS.iter().any(|(first, second)| {
            words.windows(2).any(|pair| pair == [*first, *second]) || has(&format!("{first}{second}"))
        })
}

/// Whether two consecutive words together name a secret: `API key`.
pub(super) fn is_secret_pair(first: &str, second: &str) -> bool {
    SECRET_PAIRS.iter().any(|(a, b)| first.eq_ignore_ascii_case(a) && second.eq_ignore_ascii_case(b))
}

/// Whether a name contains the start of one of the secret words, ignoring case. A quick check before
/// [`is_secret_name`].
pub(super) fn may_be_secret(name: &[u8]) -> bool {
    const BEGINNINGS: [&[u8; 3]; 9] = [b"tok", b"sec", b"pas", b"key", b"aut", b"coo", b"cre", b"mne", b"pwd"];
    name.windows(3).any(|part| {
        let part = [part[0] | 0x20, part[1] | 0x20, part[2] | 0x20];
        BEGINNINGS.contains(&&part)
    })
}

/// Splits a name into lowercase words: `apiKey`, `api-key` and `API_KEY` give the same words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_fields_are_secrets() {
        for name in [
            "token",
            "accessToken",
            "API_KEY",
            "apikey",
            "user-password",
            "Authorization",
            "set_cookie",
            "privateKey",
            "aws_secret_access_key",
            "_authToken",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "smtp_pass",
            "RAILS_MASTER_KEY",
            "credentials",
        ] {
            assert!(is_secret_name(name), "{name}");
            assert!(may_be_secret(name.as_bytes()), "{name}");
        }
        for name in [
            "id",
            "next_page_token",
            "token_type",
            "key",
            "monkey",
            "secretary",
            "tokenizer",
            "api",
            "keys",
            "password_file",
            "pass",
            "first_pass",
            "PWD",
            "storage_key",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
