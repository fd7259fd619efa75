//! Reads and writes digests, times and versions as registries write them.

use semver::Version;
use serde_json::Value;

use crate::backend::facts::one_line;
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::disk::Sha;
use mcpkg_base::hex;

/// The most characters of a version.
const VERSION: usize = 100;

/// Returns the digest that a text says: 64 hex digits, perhaps after `sha256:`.
pub fn sha256(text: &str) -> Option<Sha> {
    hex::decode(text.strip_prefix("sha256:").unwrap_or(text))?.try_into().ok()
}

/// Returns a digest as registries write it.
pub fn hash(sha256: &Sha) -> String {
    format!("sha256:{}", hex::encode(sha256))
}

/// Returns the version that a text is.
pub fn version(text: &str) -> Option<Version> {
    if text.len() <= VERSION { Version::parse(text).ok() } else { None }
}

/// Returns the time that a member of an object says.
pub fn time(object: &Value, key: &str) -> Option<Millis> {
    object.get(key).and_then(Value::as_str).and_then(clock::from_rfc3339)
}

/// Returns a text in an object as one line; `None` where it is empty or no text.
pub fn text(object: &Value, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(one_line).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_and_versions_are_read_or_refused() {
        let digest = "ab".repeat(32);
        assert_eq!(sha256(&digest), Some([0xab; 32]));
        assert_eq!(sha256(&format!("sha256:{digest}")), Some([0xab; 32]));
        for bad in ["", "sha256:", &digest[1..], &digest.to_uppercase(), &format!("sha512:{digest}")] {
            assert_eq!(sha256(bad), None, "{bad}");
        }
        for bad in ["", "1", "1.0", "v1.0.0", "1.0.0/..", "../1.0.0", &format!("1.0.0-{}", "a".repeat(200))] {
            assert_eq!(version(bad), None, "{bad}");
        }
    }
}
