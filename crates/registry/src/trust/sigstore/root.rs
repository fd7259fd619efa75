//! The Sigstore root: the certificates, logs and timestamp authorities that bundles are checked against.

use std::sync::Arc;

use serde_json::{Value, json};

use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_base::sha256;

/// The root that applies for this user on this machine.
#[derive(Clone, Debug, Default)]
pub enum Root {
    /// The root embedded in mcpkg.
    #[default]
    Embedded,
    /// A root that this user chose at a terminal.
    Replaced(Arc<Replaced>),
    /// A chosen root that cannot be read, so no bundle counts.
    Unreadable,
}

#[derive(Debug)]
pub struct Replaced {
    /// The root as JSON.
    pub text: String,
    pub since: Millis,
}

/// The description of a root.
#[derive(Clone, Debug)]
pub struct Described {
    /// The date of the embedded root; `None` for any other root.
    pub dated: Option<&'static str>,
    pub sha256: [u8; 32],
    /// The authorities that the root accepts.
    pub authorities: Vec<Authority>,
}

#[derive(Clone, Debug)]
pub struct Authority {
    /// What the authority is for: certificates, the signature log, the certificate log, or timestamps.
    pub kind: &'static str,
    /// The URL or the name of the authority.
    pub place: String,
    /// The start of its validity, if the root states it.
    pub from: Option<String>,
    /// The end of its validity, if the root states it.
    pub until: Option<String>,
}

impl Root {
    pub fn of_user(approved: &Approved) -> Result<Self> {
        // The choice is stored outside of the database, so that a database from somebody else cannot choose the
        // root.
        if !super::is_checked() || !approved.has(Kind::SigstoreRoot, &record())? {
            return Ok(Self::Embedded);
        }
        let note = approved.get(Kind::SigstoreRoot, &record())?;
        Ok(note.as_ref().and_then(Replaced::of_note).map_or(Self::Unreadable, |root| Self::Replaced(Arc::new(root))))
    }

    /// Replaces the embedded root.
    ///
    /// # Errors
    /// `E_UNAPPROVED` if the user has no home folder.
    pub fn replace(approved: &Approved, text: &str, since: Millis) -> Result<()> {
        let sha256 = sha256::hex(text.as_bytes());
        approved.put(Kind::SigstoreRoot, &record(), &json!({ "root": text, "sha256": sha256, "since": since }))
    }

    /// Restores the embedded root.
    pub fn restore(approved: &Approved) -> Result<()> {
        approved.withdraw(Kind::SigstoreRoot, &record())
    }

    /// Returns a value that identifies the root, for caches.
    pub fn id(&self) -> [u8; 32] {
        match self {
            Self::Embedded => [0; 32],
            Self::Replaced(root) => sha256::of(root.text.as_bytes()),
            Self::Unreadable => [0xff; 32],
        }
    }
}

impl Replaced {
    fn of_note(note: &Value) -> Option<Self> {
        let text = note["root"].as_str()?;
        let is_whole = note["sha256"].as_str()? == sha256::hex(text.as_bytes());
        is_whole.then_some(Self { text: text.to_owned(), since: note["since"].as_i64()? })
    }
}

/// Returns the name of the record; it is constant, since each user has one root per machine.
fn record() -> String {
    sha256::hex(b"root")
}

#[cfg(all(test, feature = "sigstore"))]
mod tests {
    use super::*;

    #[test]
    fn a_root_can_be_replaced_and_restored_and_a_damaged_root_is_unreadable() {
        let scratch = tempfile::tempdir().expect("a folder");
        let approved = Approved::below(scratch.path());
        assert!(matches!(Root::of_user(&approved).expect("a root"), Root::Embedded));
        Root::replace(&approved, "{}", 7).expect("kept");
        let root = Root::of_user(&approved).expect("a root");
        assert!(matches!(&root, Root::Replaced(root) if root.text == "{}" && root.since == 7));
        assert_ne!(root.id(), Root::Embedded.id());
        let record = scratch.path().join("sigstore-root").join(record());
        for damage in ["", "{}", r#"{"root":"{}","sha256":"00","since":7}"#] {
            std::fs::write(&record, damage).expect("written");
            assert!(matches!(Root::of_user(&approved).expect("a root"), Root::Unreadable), "{damage}");
        }
        Root::restore(&approved).expect("gone");
        assert!(matches!(Root::of_user(&approved).expect("a root"), Root::Embedded));
    }
}
