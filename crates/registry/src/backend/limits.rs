//! Limits on the data that is read from a registry.

use crate::package::archive::MAX_PACKED;

/// The most bytes of an archive.
pub const ARCHIVE: u64 = MAX_PACKED;

/// The most bytes of an attestation.
pub const ATTESTATION: u64 = 256 << 10;

/// The most attestations of a version.
pub const ATTESTATIONS: usize = 100;
