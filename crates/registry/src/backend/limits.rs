//! Limits on the data that is read from a registry.

use crate::package::archive::MAX_PACKED;

/// The maximum size of an archive in bytes.
pub const ARCHIVE: u64 = MAX_PACKED;

/// The maximum size of an attestation in bytes.
pub const ATTESTATION: u64 = 256 << 10;

/// The maximum number of attestations of a version.
pub const ATTESTATIONS: usize = 100;
