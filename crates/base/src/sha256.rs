//! Computes SHA-256 hashes. Apart from tests and benchmarks, no other module uses the crate `sha2`.

use sha2::{Digest, Sha256};

use crate::hex;

/// A SHA-256 hash.
pub type Sha = [u8; 32];

/// Returns the hash of bytes.
pub fn of(bytes: impl AsRef<[u8]>) -> Sha {
    Sha256::digest(bytes).into()
}

/// Returns the hash of bytes as lowercase hex.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(&of(bytes))
}

/// Hashes bytes that come piece by piece.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Sha {
        self.0.finalize().into()
    }
}
