//! Parses and formats digests, times and versions in the format of registries.

use semver::Version;
use serde_json::Value;

use crate::backend::facts::one_line;
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::hex;
use mcpkg_base::sha256::Sha;

/// The maximum length of a version in characters.
const VERSION: usize = 100;

/// Parses a digest: 64 hex digits, optionally after `sha256:`.
pub fn sha256(text: &str) -> Option<Sha> {
    hex::decode(text.strip_prefix("sha256:").unwrap_or(text))?.try_into().ok()
}

/// Formats a digest: `sha256:...`.
pub fn hash(sha256: &Sha) -> String {
    format!("sha256:{}", hex::encode(sha256))
}

pub fn version(text: &str) -> Option<Version> {
    if text.len() <= VERSION { Version::parse(text).ok() } else { None }
}

/// Reads a time from a field of a JSON object.
pub fn time(object: &Value, key: &str) -> Option<Millis> {
    object.get(key).and_then(Value::as_str).and_then(clock::from_rfc3339)
}

/// Reads a string from a field of a JSON object as one line; `None` if it is empty or not a string.
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
