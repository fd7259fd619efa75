//! The root that bundles are checked against: whose certificates, logs and timestamps are believed.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::approved::{Approved, Kind};
use crate::clock::Millis;
use crate::disk;
use crate::error::Result;
use crate::hex;

/// The root that this user goes by on this machine.
#[derive(Clone, Debug, Default)]
pub enum Root {
    /// The one that this mcpkg came with.
    #[default]
    Embedded,
    /// Another, which this user put in its place at a terminal.
    Replaced(Arc<Replaced>),
    /// There is another, and it cannot be read: no bundle counts.
    Unreadable,
}

/// A root in the place of the embedded one.
#[derive(Debug)]
pub struct Replaced {
    /// Its text, which is JSON.
    pub text: String,
    /// Since when it is in that place.
    pub since: Millis,
}

/// What a root says.
#[derive(Clone, Debug)]
pub struct Described {
    /// The day that the embedded root is of; `None` for any other.
    pub dated: Option<&'static str>,
    /// The SHA-256 of its text.
    pub sha256: [u8; 32],
    /// Who is believed by it.
    pub authorities: Vec<Authority>,
}

/// Somebody who is believed by a root.
#[derive(Clone, Debug)]
pub struct Authority {
    /// What they are believed: certificates, the log of signatures, the log of certificates, timestamps.
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
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn of_user(approved: &Approved) -> Result<Self> {
        // It is outside of the database, since a database from somebody else names no root.
        if !super::is_checked() || !approved.has(Kind::SigstoreRoot, &record())? {
            return Ok(Self::Embedded);
        }
        let note = approved.get(Kind::SigstoreRoot, &record())?;
        Ok(note.as_ref().and_then(Replaced::of_note).map_or(Self::Unreadable, |root| Self::Replaced(Arc::new(root))))
    }

    /// Puts a root in the place of the embedded one.
    ///
    /// # Errors
    /// `E_UNAPPROVED` where the user has no home; `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
    pub fn replace(approved: &Approved, text: &str, since: Millis) -> Result<()> {
        let sha256 = hex::encode(&disk::sha256(text.as_bytes()));
        approved.put(Kind::SigstoreRoot, &record(), &json!({ "root": text, "sha256": sha256, "since": since }))
    }

    /// Goes back to the embedded one.
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn restore(approved: &Approved) -> Result<()> {
        approved.withdraw(Kind::SigstoreRoot, &record())
    }

    /// Returns what tells this root from others.
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

/// Returns the one name of a record of a root: there is one root for each user and machine.
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
