//! Limits on what is read from a registry.

use crate::package::archive::MAX_PACKED;

/// Bytes of an archive.
pub const ARCHIVE: u64 = MAX_PACKED;

/// Bytes of an attestation.
pub const ATTESTATION: u64 = 256 << 10;

/// Attestations of a version.
pub const ATTESTATIONS: usize = 100;
