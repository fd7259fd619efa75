//! The subject of a statement: one archive of one version of a tool.

use mcpkg_base::hex;
use mcpkg_base::sha256;

/// One archive of one version of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The full name, such as `alice/utils/weather`.
    pub name: String,
    pub version: String,
    pub sha256: [u8; 32],
}

impl Subject {
    /// Returns `NAME@VERSION`, as used in statements.
    pub fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Returns the SHA-256 of the archive in hex.
    pub fn digest(&self) -> String {
        hex::encode(&self.sha256)
    }

    /// Returns whether `digest` is the SHA-256 of the archive's digest as text. A statement with such a digest was made
    /// by mistake: somebody hashed the text of the digest instead of the archive.
    pub(super) fn is_digest_of_text(&self, digest: &str) -> bool {
        let text = self.digest();
        [text.clone(), format!("sha256:{text}")].iter().any(|text| sha256::hex(text.as_bytes()) == digest)
    }
}
