//! Records this user's decisions about trust on this machine outside of the database, so that a database from somebody else brings no
//! trust.

use serde_json::{Value, json};

use super::policy::Policy;
use super::sigstore::Root;
use super::subject::Subject;
use super::weigh::Rules;
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::tools::trust::{self, Approval, TrustedPart, TrustedRow};

/// Where the note of a record names the file that it came from.
const FROM: &str = "from";

/// Where the note says that the file does not name them any more.
const WITHDRAWN: &str = "withdrawn";

/// The subject of a record.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A trusted identity, for these tools and in this role.
    Identity(&'a TrustedRow),
    /// A policy that is looser than the usual one.
    Policy(Policy),
    /// The approval of an archive.
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
    /// `E_UNAPPROVED` where the user has no home.
    pub fn keep(self, context: &Context) -> Result<()> {
        let (name, note) = self.named();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Keeps it as [`Record::keep`] does, and remembers the file that said it: it ends once the file no longer says it.
    pub fn keep_from(self, context: &Context, file: &str) -> Result<()> {
        let (name, mut note) = self.named();
        note[FROM] = file.into();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Ends trust that came from a file. The record stays, since the identity's objections to tools still count.
    pub fn end_from(self, context: &Context, file: &str) -> Result<()> {
        let (name, mut note) = self.named();
        note[FROM] = file.into();
        note[WITHDRAWN] = true.into();
        context.approved.put(Kind::Trust, &name, &note)
    }

    /// Whether it came from a file and has ended.
    pub fn has_ended(self, context: &Context) -> Result<bool> {
        Ok(self.state(&context.approved)? == State::Ended)
    }

    pub fn withdraw(self, context: &Context) -> Result<()> {
        context.approved.withdraw(Kind::Trust, &self.named().0)
    }

    /// Whether it is there.
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

/// How a record stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Counts,
    Ended,
    Missing,
}

/// Returns the identities that are trusted because a file named them, without those that a person trusted by hand.
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

/// Returns the trusted identities and the policy in the database, as far as this user approved them on this machine.
pub fn rules(db: &Db<'_>, context: &Context) -> Result<Rules> {
    rules_by(db, &context.approved)
}

/// As [`rules`], by these records.
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

/// Returns whether the database names a policy; otherwise the usual one applies.
pub fn names_a_policy(db: &Db<'_>) -> Result<bool> {
    Ok(trust::policy(db)?.is_some())
}

/// Returns the policy that applies, and the database's policy if this user never approved it here.
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

/// Returns whether a person approved an archive on this machine.
pub fn is_approved(db: &Db<'_>, approved: &Approved, subject: &Subject) -> Result<bool> {
    Ok(trust::is_approved(db, &approval(subject))? && Record::Archive(subject).is_among(approved)?)
}

/// Returns an archive as the database names one that is approved.
pub fn approval(subject: &Subject) -> Approval {
    Approval { name: subject.name.clone(), version: subject.version.clone(), sha256: subject.sha256 }
}
