//! Decides which attestations of an archive count, and computes the verdict.

use std::collections::BTreeSet;

use super::bundle::Bundle;
use super::identity::Identity;
use super::pattern;
use super::policy::Policy;
use super::sigstore::{self, Root};
use super::statement::{About, Assertion, Outcome, Statement};
use super::subject::Subject;
use super::verdict::{Counted, Form, Part, Status, Verdict};
use mcpkg_store::tools::trust::{TrustedPart, TrustedRow};

/// The rules for counting attestations: the identities that this user trusts on this machine, how many of them must
/// count, the policy, and the Sigstore root.
#[derive(Clone, Debug)]
pub struct Rules {
    pub trusted: Vec<TrustedRow>,
    /// Identities that a file no longer names. They no longer vouch for a tool, but their failed audits still
    /// count: otherwise an agent that can write the file could silence an auditor.
    pub withdrawn: Vec<TrustedRow>,
    pub policy: Policy,
    /// How many different identities must count; at least one.
    pub minimum: u32,
    pub root: Root,
}

impl Rules {
    /// Returns the verdict on an archive from its attestations, each with its SHA-256. One objection from a trusted
    /// signer refuses the archive. Otherwise it is verified if enough different signers have a signature that counts.
    ///
    /// A signature counts only if all of this is true: it is valid, its statement names this tool, version and
    /// archive, its predicate is known and names the same tool, it is not an objection, and its signer is trusted for
    /// this tool in this role.
    pub fn weigh<'b>(
        &self,
        subject: &Subject,
        attestations: impl IntoIterator<Item = ([u8; 32], &'b Bundle)>,
    ) -> Verdict {
        let mut all = Vec::new();
        for (sha256, bundle) in attestations {
            all.extend(bundle.signers.iter().map(|signer| self.counted(subject, sha256, bundle, signer)));
        }
        let of_part = |part: Option<Part>| {
            let counts = all.iter().filter(|one| one.counted && (part.is_none() || one.part == part));
            counts
                .filter_map(|one| one.identity.clone())
                .collect::<BTreeSet<Identity>>()
                .into_iter()
                .collect::<Vec<_>>()
        };
        let (identities, publishers) = (of_part(None), of_part(Some(Part::Publisher)));
        let enough = usize::try_from(self.minimum.max(1)).is_ok_and(|minimum| identities.len() >= minimum);
        let status = match all.iter().any(|one| one.refuses) {
            true => Status::Refused,
            false if enough => Status::Verified,
            false => Status::Unverified,
        };
        Verdict { status, policy: self.policy, minimum: self.minimum, identities, publishers, attestations: all }
    }

    fn counted(
        &self,
        subject: &Subject,
        sha256: [u8; 32],
        bundle: &Bundle,
        signer: &Result<Identity, String>,
    ) -> Counted {
        let said = bundle.statement.as_ref().ok().map(Statement::assertion);
        let (identity, part) = (signer.as_ref().ok().cloned(), said.map(Assertion::part));
        let (counted, refuses, why) = match (signer, &bundle.statement) {
            (Err(why), Ok(statement)) if bundle.form == Form::Sigstore && statement.about(subject) == About::Text => {
                (false, false, format!("{why}; the signature covers the hash of a text, not an archive"))
            }
            (Err(why), _) => (false, false, why.clone()),
            (Ok(_), Err(why)) => (false, false, why.clone()),
            (Ok(identity), Ok(statement)) => self.decide(subject, identity, statement),
        };
        Counted { sha256, form: bundle.form, identity, part, counted, refuses, why }
    }

    /// Returns whether a valid signature counts, whether it is an objection, and the reason.
    fn decide(&self, subject: &Subject, identity: &Identity, statement: &Statement) -> (bool, bool, String) {
        let part = statement.assertion().part();
        let trust = self.trust_in(identity, &subject.name, part);
        let may_refuse = trust.is_ok() || trust_among(&self.withdrawn, identity, &subject.name, part).is_ok();
        let not = |why: &str| (false, false, why.to_owned());
        match statement.about(subject) {
            About::This => {}
            About::OtherTool => return not("the statement is about a different tool or version"),
            About::Text => return not("the signature covers the hash of a text, not an archive"),
            About::OtherArchive if may_refuse => {
                let why = format!("somebody you trust signed a different archive as {}", subject.reference());
                return (false, true, why);
            }
            About::OtherArchive => return not("the statement is about a different archive of this version"),
        }
        if statement.assertion() == Assertion::Audited(Outcome::Failed) {
            return match trust {
                Err(why) if !may_refuse => (false, false, format!("the audit reports a failure, but {why}")),
                _ => (false, true, "an auditor you trust reports a failed audit".to_owned()),
            };
        }
        if !statement.predicate_names(subject) {
            return not("the predicate and the subject name different tools or versions");
        }
        match trust {
            Ok(()) => (true, false, format!("you trust this {}", part.word())),
            Err(why) => (false, false, why),
        }
    }

    /// Fails unless an identity is trusted for a tool in a role. The error text can be shown to people.
    pub fn trust_in(&self, identity: &Identity, name: &str, part: Part) -> Result<(), String> {
        trust_among(&self.trusted, identity, name, part)
    }
}

fn trust_among(rows: &[TrustedRow], identity: &Identity, name: &str, part: Part) -> Result<(), String> {
    let mut why = "you do not trust the signer".to_owned();
    for row in rows.iter().filter(|row| sigstore::covers(&row.identity, identity.as_str())) {
        let in_part = match row.part {
            TrustedPart::Both => true,
            TrustedPart::Publisher => part == Part::Publisher,
            TrustedPart::Auditor => part == Part::Auditor,
        };
        match (pattern::matches(&row.pattern, name), in_part) {
            (true, true) => return Ok(()),
            (true, false) => why = format!("you trust the signer, but not as {}", with_article(part)),
            (false, _) => why = "you trust the signer, but not for this tool".to_owned(),
        }
    }
    Err(why)
}

const fn with_article(part: Part) -> &'static str {
    match part {
        Part::Publisher => "a publisher",
        Part::Auditor => "an auditor",
    }
}
