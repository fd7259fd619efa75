//! The subject of a statement: one version of a tool, as one archive.

use mcpkg_base::disk;
use mcpkg_base::hex;

/// One version of a tool, as one archive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The tool's full name, such as `alice/utils/weather`.
    pub name: String,
    pub version: String,
    /// The SHA-256 of the archive's bytes.
    pub sha256: [u8; 32],
}

impl Subject {
    /// Returns `NAME@VERSION`, as a statement names it.
    pub fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Returns the SHA-256 of the archive in hex.
    pub fn digest(&self) -> String {
        hex::encode(&self.sha256)
    }

    /// Whether `digest` is the SHA-256 of the text of the archive's SHA-256: a statement over it binds no archive.
    pub(super) fn is_digest_of_text(&self, digest: &str) -> bool {
        let text = self.digest();
        [text.clone(), format!("sha256:{text}")]
            .iter()
            .any(|text| hex::encode(&disk::sha256(text.as_bytes())) == digest)
    }
}
