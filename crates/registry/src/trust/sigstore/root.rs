//! The root that bundles are checked against: the accepted certificates, logs and timestamps.

use std::sync::Arc;

use serde_json::{Value, json};

use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::Millis;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;

/// The root that this user has chosen on this machine.
#[derive(Clone, Debug, Default)]
pub enum Root {
    /// The one embedded in mcpkg.
    #[default]
    Embedded,
    /// Another one, which this user chose at a terminal.
    Replaced(Arc<Replaced>),
    /// Another one that cannot be read: no bundle counts.
    Unreadable,
}

/// A root that replaces the embedded one.
#[derive(Debug)]
pub struct Replaced {
    /// Its text, which is JSON.
    pub text: String,
    /// When it was chosen.
    pub since: Millis,
}

/// What a root says.
#[derive(Clone, Debug)]
pub struct Described {
    /// The day that the embedded root is of; `None` for any other.
    pub dated: Option<&'static str>,
    /// The SHA-256 of its text.
    pub sha256: [u8; 32],
    /// The authorities that it accepts.
    pub authorities: Vec<Authority>,
}

/// An authority that a root accepts.
#[derive(Clone, Debug)]
pub struct Authority {
    /// What it is accepted for: certificates, the log of signatures, the log of certificates, timestamps.
    pub kind: &'static str,
    /// Where they are, or their name.
    pub place: String,
    /// From when on, where the root says so.
    pub from: Option<String>,
    /// Until when, where the root says so.
    pub until: Option<String>,
}

impl Root {
    /// Returns the root of this user.
    pub fn of_user(approved: &Approved) -> Result<Self> {
        // It is kept outside of the database, so that a database from somebody else cannot choose a root.
        if !super::is_checked() || !approved.has(Kind::SigstoreRoot, &record())? {
            return Ok(Self::Embedded);
        }
        let note = approved.get(Kind::SigstoreRoot, &record())?;
        Ok(note.as_ref().and_then(Replaced::of_note).map_or(Self::Unreadable, |root| Self::Replaced(Arc::new(root))))
    }

    /// Replaces the embedded root.
    ///
    /// # Errors
    /// `E_UNAPPROVED` where the user has no home.
    pub fn replace(approved: &Approved, text: &str, since: Millis) -> Result<()> {
        let sha256 = hex::encode(&disk::sha256(text.as_bytes()));
        approved.put(Kind::SigstoreRoot, &record(), &json!({ "root": text, "sha256": sha256, "since": since }))
    }

    /// Goes back to the embedded one.
    pub fn restore(approved: &Approved) -> Result<()> {
        approved.withdraw(Kind::SigstoreRoot, &record())
    }

    /// Returns the id of this root.
    pub fn id(&self) -> [u8; 32] {
        match self {
            Self::Embedded => [0; 32],
            Self::Replaced(root) => disk::sha256(root.text.as_bytes()),
            Self::Unreadable => [0xff; 32],
        }
    }
}

impl Replaced {
    fn of_note(note: &Value) -> Option<Self> {
        let text = note["root"].as_str()?;
        let is_whole = note["sha256"].as_str()? == hex::encode(&disk::sha256(text.as_bytes()));
        is_whole.then_some(Self { text: text.to_owned(), since: note["since"].as_i64()? })
    }
}

/// Returns the name of the record: each user has one root on a machine.
fn record() -> String {
    hex::encode(&disk::sha256(b"root"))
}

#[cfg(all(test, feature = "sigstore"))]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_the_users_until_they_go_back_and_a_damaged_one_is_none() {
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
