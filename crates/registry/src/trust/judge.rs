//! Computes the verdict on an archive from the attestations in the database.

use std::sync::Arc;

use super::bundle::Bundle;
use super::policy::Policy;
use super::records;
use super::sigstore::Root;
use super::subject::Subject;
use super::verdict::{Status, Verdict};
use super::weigh::Rules;
use mcpkg_base::approved::Approved;
use mcpkg_base::cache::Cache;
use mcpkg_base::error::Result;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::tools::attestations::{self, Attestation};

/// The key of the cache: the SHA-256 of the attestation, and the root that it was checked against.
type Key = ([u8; 32], [u8; 32]);

/// Parsed attestations. Their statements and signers depend only on their bytes and on the Sigstore root. Whether they
/// count is decided each time.
static READ: Cache<Key, Arc<Bundle>> = Cache::new(1_024);

/// Returns the verdict on an archive. It depends on the attestations, the identities that this user trusts on this
/// machine, the policy, and whether a person approved the archive. Nobody is asked.
pub fn judge(db: &Db<'_>, context: &Context, subject: &Subject) -> Result<Verdict> {
    judge_by(&records::rules(db, context)?, db, context, subject)
}

/// Like [`judge`], with rules that the caller has already read, for a list of many archives.
pub fn judge_by(rules: &Rules, db: &Db<'_>, context: &Context, subject: &Subject) -> Result<Verdict> {
    let claims = attestations::of(db, &subject.sha256)?;
    judge_claims(rules, db, context, subject, &claims)
}

/// Like [`judge_by`], with these attestations instead of those in the database.
pub fn judge_claims(
    rules: &Rules,
    db: &Db<'_>,
    context: &Context,
    subject: &Subject,
    claims: &[Attestation],
) -> Result<Verdict> {
    decide(rules, db, &context.approved, subject, claims)
}

/// Returns only the status of an archive, with rules and approvals that the caller has already read.
pub fn status(rules: &Rules, db: &Db<'_>, approved: &Approved, subject: &Subject) -> Result<Status> {
    Ok(decide(rules, db, approved, subject, &attestations::of(db, &subject.sha256)?)?.status)
}

fn decide(
    rules: &Rules,
    db: &Db<'_>,
    approved: &Approved,
    subject: &Subject,
    claims: &[Attestation],
) -> Result<Verdict> {
    let bundles: Vec<([u8; 32], Arc<Bundle>)> = claims.iter().map(|claim| read(&claim.bundle, &rules.root)).collect();
    let mut verdict = rules.weigh(subject, bundles.iter().map(|(sha256, bundle)| (*sha256, &**bundle)));
    if verdict.status == Status::Unverified
        && rules.policy != Policy::RequireAttestation
        && records::is_approved(db, approved, subject)?
    {
        verdict.status = Status::Approved;
    }
    Ok(verdict)
}

/// Returns the SHA-256 of an attestation, and the parsed attestation, from the cache if it is there.
pub fn read(text: &str, root: &Root) -> ([u8; 32], Arc<Bundle>) {
    let sha256 = sha256::of(text.as_bytes());
    if let Some(bundle) = READ.get(&(sha256, root.id())) {
        return (sha256, bundle);
    }
    let bundle = Arc::new(Bundle::read(text, root));
    READ.put((sha256, root.id()), Arc::clone(&bundle));
    (sha256, bundle)
}
