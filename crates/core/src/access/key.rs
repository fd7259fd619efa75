//! Makes and parses access keys: `mcpkg_<id>_<secret>`, where the id has 12 hex digits and the secret 64.

use mcpkg_base::clock::Clock;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256;

const PREFIX: &str = "mcpkg_";
const ID: usize = 12;
const SECRET: usize = 64;

/// The parts of a key. There is no `Debug` implementation, so that logs cannot show a key.
pub(super) struct Parts<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a str,
}

/// Returns a new key with a random secret.
pub(super) fn make(clock: &Clock) -> Result<String> {
    let id = hex::encode(&clock.secret()?[..ID / 2]);
    Ok(format!("{PREFIX}{id}_{}", hex::encode(&clock.secret()?)))
}

/// Returns the parts of a key; `None` if the text does not have the form of a key.
pub(super) fn parse(key: &str) -> Option<Parts<'_>> {
    let (id, secret) = key.strip_prefix(PREFIX)?.split_once('_')?;
    let good =
        |text: &str, length| text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (good(id, ID) && good(secret, SECRET)).then_some(Parts { id, secret })
}

/// Returns the hash of a secret. mcpkg stores only the hash.
pub(super) fn hash(secret: &str) -> [u8; 32] {
    sha256::of(secret.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_parsed_into_its_parts() {
        let clock = Clock::system();
        let (one, other) = (make(&clock).unwrap(), make(&clock).unwrap());
        assert_ne!(one, other);
        let parts = parse(&one).unwrap();
        assert_eq!(one, format!("mcpkg_{}_{}", parts.id, parts.secret));
        assert_eq!(one.len(), 6 + 12 + 1 + 64);
        assert_eq!(hash("abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn a_text_without_the_form_of_a_key_is_refused() {
        let key = make(&Clock::system()).unwrap();
        for bad in [
            "",
            "mcpkg_",
            "mcpkg__",
            "secret",
            &key[1..],
            &key[..key.len() - 1],
            &format!("{key}0"),
            &format!(" {key}"),
            &key.to_uppercase(),
            &key.replace("mcpkg_", "other_"),
            &format!("{}é", &key[..key.len() - 2]),
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
