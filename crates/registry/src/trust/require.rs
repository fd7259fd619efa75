//! Decides whether an archive may be used, for example to install it or to run it.

use serde_json::{Value, json};

use super::judge::judge;
use super::policy::{Policy, Verb};
use super::records::{self, Record};
use super::subject::Subject;
use super::verdict::{Counted, Status, Verdict};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::request::{self, Need};
use mcpkg_core::op::{Context, Effect};
use mcpkg_store::tools::trust;

/// Returns the verdict on an archive that may be used: verified, approved by a person, or unverified under a policy
/// that allows it. Under the policy `prompt`, a person is asked, and an approval is remembered for this archive.
///
/// # Errors
/// `E_TRUST_FAILED` if a trusted identity objects to the archive, under any policy; `E_TRUST_REQUIRED` if the policy
/// requires attestations, or the caller may not write to the database. Under the policy `prompt`, `E_CONSENT_REQUIRED`
/// if nobody can be asked now, and `E_CONFIRM_REQUIRED` or `E_CONSENT_DENIED` if a person refuses.
pub fn require(context: &Context, verb: Verb, subject: &Subject) -> Result<Verdict> {
    let verdict = context.store.read(|db| judge(db, context, subject))?;
    match (verdict.status, verdict.policy) {
        (Status::Refused, _) => Err(failed(subject, &verdict)),
        (Status::Verified | Status::Approved, _) | (Status::Unverified, Policy::Allow) => Ok(verdict),
        (Status::Unverified, Policy::Prompt) if context.store.may_write() => {
            ask(context, verb, subject, &verdict)?;
            context.store.read(|db| judge(db, context, subject))
        }
        (Status::Unverified, Policy::RequireAttestation | Policy::Prompt) => Err(required(subject, &verdict)),
    }
}

/// Asks a person, and records the approval.
fn ask(context: &Context, verb: Verb, subject: &Subject, verdict: &Verdict) -> Result<()> {
    let inputs = json!({ "tool": subject.name, "version": subject.version, "sha256": subject.digest() });
    let mut effects = vec![
        format!("archive: SHA-256 {}", subject.digest()),
        format!(
            "requested: to {} it; if you approve, mcpkg uses exactly this archive from then on without asking again",
            verb.word()
        ),
    ];
    effects.extend(reasons(verdict));
    let consent = request::ask(
        context,
        &Need {
            operation: verb.operation(),
            project: "",
            inputs: &inputs,
            plan_hash: &subject.digest(),
            summary: format!("Use {}, which is not verified", subject.reference()),
            effects,
            effect: Effect::Write,
        },
    )?;
    // The record on this machine and the database row approve the archive only together, so their order does not
    // matter.
    Record::Archive(subject).keep(context)?;
    let kept = context.store.write(|db| {
        consent.consume(context, db)?;
        trust::approve(db, &records::approval(subject))?;
        context.event(db, context.author(), None, "tool.trust.add", &subject.reference())
    });
    if kept.is_err() {
        Record::Archive(subject).withdraw(context)?;
    }
    kept
}

/// Lists for each attestation why it counts or does not count.
fn reasons(verdict: &Verdict) -> Vec<String> {
    if verdict.attestations.is_empty() {
        return vec!["nobody has signed this archive".to_owned()];
    }
    let line = |one: &Counted| {
        let who = one.identity.as_ref().map_or("nobody", |identity| identity.as_str());
        let part = one.part.map_or("signature", |part| part.word());
        format!("{part} {who}: {}", one.why)
    };
    verdict.attestations.iter().map(line).collect()
}

fn details(subject: &Subject, verdict: &Verdict) -> Value {
    json!({
        "tool": subject.name,
        "version": subject.version,
        "sha256": subject.digest(),
        "policy": verdict.policy.word(),
        "minimum": verdict.minimum,
        "attestations": verdict.attestations.iter().map(Counted::data).collect::<Vec<_>>(),
    })
}

fn failed(subject: &Subject, verdict: &Verdict) -> Error {
    let why = verdict.attestations.iter().find(|one| one.refuses).map_or("", |one| one.why.as_str());
    Error::new(Code::TrustFailed, format!("{} is refused: {why}", subject.reference()))
        .with_details(details(subject, verdict))
        .hint(format!("`mcpkg tool verify {}` shows the signer that vetoed it", subject.reference()))
}

fn required(subject: &Subject, verdict: &Verdict) -> Error {
    let (counted, minimum) = (verdict.identities.len(), verdict.minimum);
    let message = format!(
        "{} is not verified: {counted} of {minimum} required attestations count (policy {})",
        subject.reference(),
        verdict.policy.word()
    );
    Error::new(Code::TrustRequired, message)
        .with_details(details(subject, verdict))
        .hint(format!("`mcpkg tool verify {}` shows why each signature counts or does not count", subject.reference()))
        .hint("to trust a signer, the user runs `mcpkg tool trust add IDENTITY` at a terminal")
}
