//! Stores this user's trust decisions on this machine outside of the database, so that a database from somebody
//! else cannot bring trust with it.

use serde_json::{Value, json};

use super::policy::Policy;
use super::sigstore::Root;
use super::subject::Subject;
use super::weigh::Rules;
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::error::Result;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::tools::trust::{self, Approval, TrustedPart, TrustedRow};

/// The field of a record that names the file from which the trust came.
const FROM: &str = "from";

/// The field of a record that marks trust as ended, because the file no longer names the identity.
const WITHDRAWN: &str = "withdrawn";

/// The subject of a record.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A trusted identity with its role and its pattern of tools.
    Identity(&'a TrustedRow),
    /// A policy that is looser than the default.
    Policy(Policy),
    /// The approval of an archive.
    Archive(&'a Subject),
}

impl Record<'_> {
    /// Returns the file name and the contents of the record.
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
        (sha256::hex(note.to_string().as_bytes()), note)
    }

    /// Writes the record to disk.
    ///
    /// # Errors
    /// `E_UNAPPROVED` if the user has no home folder.
    pub fn keep(self, context: &Context) -> Result<()> {
        let (name, note) = self.named();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Like [`Record::keep`], for trust that came from a file and ends when the file no longer names the identity.
    pub fn keep_from(self, context: &Context, file: &str) -> Result<()> {
        let (name, mut note) = self.named();
        note[FROM] = file.into();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Marks trust from a file as ended. The record stays, since the identity's failed audits still count.
    pub fn end_from(self, context: &Context, file: &str) -> Result<()> {
        let (name, mut note) = self.named();
        note[FROM] = file.into();
        note[WITHDRAWN] = true.into();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Returns whether the record is for trust that came from a file and that has ended.
    pub fn has_ended(self, context: &Context) -> Result<bool> {
        Ok(self.state(&context.approved)? == State::Ended)
    }

    pub fn withdraw(self, context: &Context) -> Result<()> {
        context.approved.withdraw(Kind::Trust, &self.named().0)
    }

    /// Returns whether the record exists and is in force.
    pub fn is_kept(self, context: &Context) -> Result<bool> {
        self.is_among(&context.approved)
    }

    fn is_among(self, approved: &Approved) -> Result<bool> {
        Ok(self.state(approved)? == State::Counts)
    }

    fn state(self, approved: &Approved) -> Result<State> {
        let (name, note) = self.named();
        let Some(mut kept) = approved.get(Kind::Trust, &name)? else { return Ok(State::Missing) };
        let has_ended = kept.as_object_mut().and_then(|kept| {
            kept.remove(FROM);
            kept.remove(WITHDRAWN)
        });
        Ok(match has_ended {
            _ if kept != note => State::Missing,
            Some(_) => State::Ended,
            None => State::Counts,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Counts,
    Ended,
    Missing,
}

/// Returns the identities that are trusted because this file names them. Identities that a person trusted by command
/// are left out.
pub fn trusted_from(context: &Context, file: &str) -> Result<Vec<TrustedRow>> {
    let row = |note: &Value| {
        let text = |key| note.get(key).and_then(Value::as_str);
        (text(FROM)? == file && note.get(WITHDRAWN).is_none()).then_some(())?;
        Some(TrustedRow {
            identity: text("identity")?.to_owned(),
            label: None,
            pattern: text("pattern")?.to_owned(),
            part: TrustedPart::of_word(text("part")?)?,
            added_at: 0,
        })
    };
    Ok(context.approved.all(Kind::Trust)?.iter().filter_map(|(_, note)| row(note)).collect())
}

/// Returns the trusted identities and the policy in the database, as far as this user approved them on this
/// machine.
pub fn rules(db: &Db<'_>, context: &Context) -> Result<Rules> {
    rules_by(db, &context.approved)
}

/// Like [`rules`], with approvals that the caller has already opened.
pub fn rules_by(db: &Db<'_>, approved: &Approved) -> Result<Rules> {
    let (mut trusted, mut withdrawn) = (Vec::new(), Vec::new());
    for row in trust::list(db)? {
        match Record::Identity(&row).state(approved)? {
            State::Counts => trusted.push(row),
            State::Ended => withdrawn.push(row),
            State::Missing => {}
        }
    }
    let (policy, _) = policy_by(db, approved)?;
    Ok(Rules { trusted, withdrawn, policy, minimum: trust::minimum(db)?.unwrap_or(1), root: Root::of_user(approved)? })
}

/// Returns whether the database sets a policy; otherwise the default applies.
pub fn names_a_policy(db: &Db<'_>) -> Result<bool> {
    Ok(trust::policy(db)?.is_some())
}

/// Returns the policy that applies. If the policy in the database is ignored, because it is looser than the default and
/// this user never approved it on this machine, also returns that policy.
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

pub fn is_approved(db: &Db<'_>, approved: &Approved, subject: &Subject) -> Result<bool> {
    Ok(trust::is_approved(db, &approval(subject))? && Record::Archive(subject).is_among(approved)?)
}

/// Returns the database row for the approval of an archive.
pub fn approval(subject: &Subject) -> Approval {
    Approval { name: subject.name.clone(), version: subject.version.clone(), sha256: subject.sha256 }
}
