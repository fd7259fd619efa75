//! The verdict on an archive, and how each attestation contributed to it.

use serde_json::{Value, json};

use super::Policy;
use super::identity::Identity;
use mcpkg_base::hex;

/// The role of a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Publisher,
    Auditor,
}

impl Part {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Auditor => "auditor",
        }
    }
}

/// The format of an attestation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Dsse,
    /// A statement signed by `ssh-keygen`.
    Ssh,
    /// A Sigstore bundle, which never counts if this mcpkg cannot check it.
    Sigstore,
    Unknown,
}

impl Form {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dsse => "dsse",
            Self::Ssh => "ssh",
            Self::Sigstore => "sigstore",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Enough trusted identities vouch for the archive.
    Verified,
    /// A person approved exactly this archive.
    Approved,
    Unverified,
    /// A trusted identity objects to the archive, so no policy allows it.
    Refused,
}

impl Status {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Approved => "approved",
            Self::Unverified => "unverified",
            Self::Refused => "refused",
        }
    }

    /// Returns whether the archive may be used without a warning.
    pub const fn is_trusted(self) -> bool {
        matches!(self, Self::Verified | Self::Approved)
    }
}

/// A signature of an attestation, and whether it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The SHA-256 of the attestation.
    pub sha256: [u8; 32],
    pub form: Form,
    /// The signer, if the signature is valid.
    pub identity: Option<Identity>,
    /// The signer's role, if the statement names one.
    pub part: Option<Part>,
    pub counted: bool,
    /// Whether the signature is a trusted objection to the archive: a failed audit, or a statement about a different
    /// archive of this version.
    pub refuses: bool,
    /// The reason why the signature counts or does not count, without a final period.
    pub why: String,
}

impl Counted {
    pub fn data(&self) -> Value {
        json!({
            "sha256": hex::encode(&self.sha256),
            "kind": self.form.word(),
            "identity": self.identity.as_ref().map(Identity::as_str),
            "part": self.part.map(Part::word),
            "counted": self.counted,
            "refuses": self.refuses,
            "why": self.why,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub status: Status,
    /// The policy that applied.
    pub policy: Policy,
    /// How many identities must count.
    pub minimum: u32,
    /// The identities that count, sorted and without duplicates.
    pub identities: Vec<Identity>,
    /// The identities that count as publishers.
    pub publishers: Vec<Identity>,
    /// All signatures, and whether each counts.
    pub attestations: Vec<Counted>,
}

impl Verdict {
    /// Returns whether the archive may be used without a warning.
    pub const fn is_trusted(&self) -> bool {
        self.status.is_trusted()
    }

    /// Returns the publisher that permissions and updates are bound to; `None` if no trusted identity published the
    /// archive.
    pub fn publisher(&self) -> Option<&Identity> {
        self.publishers.first()
    }

    /// Returns the short form of the verdict for replies.
    pub fn verification(&self) -> Value {
        let identities: Vec<&str> = self.identities.iter().map(Identity::as_str).collect();
        json!({ "status": self.status.word(), "identities": identities, "policy": self.policy.word() })
    }
}
