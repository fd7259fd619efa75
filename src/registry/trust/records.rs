//! What this user decided about trust on this machine, as records outside of the database: a database from somebody else brings
//! no trust.

use serde_json::{Value, json};

use super::policy::Policy;
use super::sigstore::Root;
use super::subject::Subject;
use super::weigh::Rules;
use crate::approved::{Approved, Kind};
use crate::disk;
use crate::error::Result;
use crate::hex;
use crate::op::Context;
use crate::store::Db;
use crate::store::tools::trust::{self, Approval, TrustedRow};

/// What a record is of.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// Somebody who is trusted, for these tools and in this part.
    Identity(&'a TrustedRow),
    /// A policy that lets through what the usual one does not.
    Policy(Policy),
    /// The yes to an archive.
    Archive(&'a Subject),
}

impl Record<'_> {
    /// Returns the record's name and what it says.
    fn named(self) -> (String, Value) {
        let note = match self {
            Record::Identity(row) => {
                json!({ "identity": row.identity, "pattern": row.pattern, "part": row.part.word() })
            }
            Record::Policy(policy) => json!({ "policy": policy.word() }),
            Record::Archive(subject) => {
                json!({ "name": subject.name, "version": subject.version, "sha256": subject.digest() })
            }
        };
        (hex::encode(&disk::sha256(note.to_string().as_bytes())), note)
    }

    /// Keeps it; it is on the disk when this returns.
    ///
    /// # Errors
    /// `E_UNAPPROVED` where the user has no home; `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
    pub fn keep(self, context: &Context) -> Result<()> {
        let (name, note) = self.named();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Takes it away.
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn withdraw(self, context: &Context) -> Result<()> {
        context.approved.withdraw(Kind::Trust, &self.named().0)
    }

    /// Whether it is there.
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn is_kept(self, context: &Context) -> Result<bool> {
        self.is_among(&context.approved)
    }

    fn is_among(self, approved: &Approved) -> Result<bool> {
        let (name, note) = self.named();
        Ok(approved.get(Kind::Trust, &name)? == Some(note))
    }
}

/// Returns whom this user trusts, and the policy: what the database says, as far as this user decided it here.
///
/// # Errors
/// `E_DB_CORRUPT` where the database's policy is none; `E_STORAGE`, `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
pub fn rules(db: &Db<'_>, context: &Context) -> Result<Rules> {
    rules_by(db, &context.approved)
}

/// As [`rules`], by these records.
///
/// # Errors
/// As [`rules`].
pub fn rules_by(db: &Db<'_>, approved: &Approved) -> Result<Rules> {
    let mut trusted = Vec::new();
    for row in trust::list(db)? {
        if Record::Identity(&row).is_among(approved)? {
            trusted.push(row);
        }
    }
    let (policy, _) = policy_by(db, approved)?;
    Ok(Rules { trusted, policy, minimum: trust::minimum(db)?.unwrap_or(1), root: Root::of_user(approved)? })
}

/// Whether the database names a policy; the usual one applies otherwise.
///
/// # Errors
/// `E_DB_BUSY`, `E_STORAGE`.
pub fn names_a_policy(db: &Db<'_>) -> Result<bool> {
    Ok(trust::policy(db)?.is_some())
}

/// Returns the policy that applies, and the one that the database names where this user never decided for that here.
///
/// # Errors
/// As [`rules`].
pub fn policy(db: &Db<'_>, context: &Context) -> Result<(Policy, Option<Policy>)> {
    policy_by(db, &context.approved)
}

fn policy_by(db: &Db<'_>, approved: &Approved) -> Result<(Policy, Option<Policy>)> {
    let Some(word) = trust::policy(db)? else { return Ok((Policy::default(), None)) };
    let named = Policy::of_word(&word)?;
    if named.is_looser_than(Policy::default()) && !Record::Policy(named).is_among(approved)? {
        return Ok((Policy::default(), Some(named)));
    }
    Ok((named, None))
}

/// Whether a person said yes to an archive on this machine.
///
/// # Errors
/// As [`rules`].
pub fn is_approved(db: &Db<'_>, approved: &Approved, subject: &Subject) -> Result<bool> {
    Ok(trust::is_approved(db, &approval(subject))? && Record::Archive(subject).is_among(approved)?)
}

/// Returns an archive as the database names one that is approved.
pub fn approval(subject: &Subject) -> Approval {
    Approval { name: subject.name.clone(), version: subject.version.clone(), sha256: subject.sha256 }
}
