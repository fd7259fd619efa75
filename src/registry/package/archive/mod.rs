//! Archives: `bundle.tar.gz`, whose members lie relative to the package. The same tree gives the same bytes.

use crate::disk::Sha;

/// A package as it is published, fetched and stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The bytes of `bundle.tar.gz`.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub sha256: Sha,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path, relative to the package, with `/` between the parts.
    pub path: String,
    /// Its bytes.
    pub size: u64,
    /// Whether it is a program.
    pub executable: bool,
}
