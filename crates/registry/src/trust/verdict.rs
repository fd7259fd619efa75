//! The verdict on an archive, and what each attestation contributed to it.

use serde_json::{Value, json};

use super::Policy;
use super::identity::Identity;
use mcpkg_base::hex;

/// The role in which an identity signs, or is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Publisher,
    Auditor,
}

impl Part {
    /// The word for people and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Auditor => "auditor",
        }
    }
}

/// The form of an attestation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Dsse,
    /// A statement with a signature by `ssh-keygen`.
    Ssh,
    /// A Sigstore bundle, which never counts if this mcpkg cannot check it.
    Sigstore,
    Unknown,
}

impl Form {
    /// The word for people and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dsse => "dsse",
            Self::Ssh => "ssh",
            Self::Sigstore => "sigstore",
            Self::Unknown => "unknown",
        }
    }
}

/// The status of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Enough trusted identities vouch for it.
    Verified,
    /// A person approved exactly this archive.
    Approved,
    Unverified,
    /// A trusted identity objects to it: no policy lets it through.
    Refused,
}

impl Status {
    /// The word for people and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Approved => "approved",
            Self::Unverified => "unverified",
            Self::Refused => "refused",
        }
    }
}

/// A signature of an attestation: its signer, and whether it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The SHA-256 of the attestation's bytes.
    pub sha256: [u8; 32],
    pub form: Form,
    /// The signer, if the signature is valid.
    pub identity: Option<Identity>,
    /// The role of the signer, if the statement names it.
    pub part: Option<Part>,
    pub counted: bool,
    /// Whether it is a trusted objection to the archive: a failed audit, or a statement over another archive.
    pub refuses: bool,
    /// Why it counts or does not, without a final period.
    pub why: String,
}

impl Counted {
    /// Returns it for programs.
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

/// The verdict on an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The status of the archive.
    pub status: Status,
    /// The policy that applied.
    pub policy: Policy,
    /// How many identities had to count.
    pub minimum: u32,
    /// The distinct identities that count, in order.
    pub identities: Vec<Identity>,
    /// Those of them that count as its publishers.
    pub publishers: Vec<Identity>,
    /// Each signature, and whether it counts.
    pub attestations: Vec<Counted>,
}

impl Verdict {
    /// Whether it may be used without a warning.
    pub const fn is_trusted(&self) -> bool {
        matches!(self.status, Status::Verified | Status::Approved)
    }

    /// Returns the publisher that a grant or an update is bound to; `None` if no trusted identity published it.
    pub fn publisher(&self) -> Option<&Identity> {
        self.publishers.first()
    }

    /// Returns the short form that replies carry.
    pub fn verification(&self) -> Value {
        let identities: Vec<&str> = self.identities.iter().map(Identity::as_str).collect();
        json!({ "status": self.status.word(), "identities": identities, "policy": self.policy.word() })
    }
}
