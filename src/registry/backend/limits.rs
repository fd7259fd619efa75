//! The most that is taken from a registry.

/// Bytes of an archive.
pub const ARCHIVE: u64 = 50 << 20;

/// Bytes of an attestation.
pub const ATTESTATION: u64 = 256 << 10;

/// Attestations of a version.
pub const ATTESTATIONS: usize = 100;
