//! Serves the attestations of a version. They are unverified claims: the registry reports who signed what, and
//! leaves it to the client to decide what counts.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use http::StatusCode;
use semver::Version;
use serde_json::{Value, json};

use super::failure::Failure;
use super::parameters::Parameters;
use super::upload::json_body;
use crate::backend::local::Local;
use crate::backend::registry::{MAX_ATTESTATION, MAX_ATTESTATIONS};
use crate::package::Name;
use crate::trust::bundle::Bundle;
use crate::trust::judge::read;
use crate::trust::sigstore::Root;
use crate::trust::statement::{About, Assertion, Outcome, Statement};
use crate::trust::{Identity, Subject};
use mcpkg_base::approved::Approved;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Answer, Context, Head};
use mcpkg_store::Db;
use mcpkg_store::tools::attestations::{self as rows, Attestation};
use mcpkg_store::tools::packages::PackageRow;

const LISTED: u32 = 50;

/// The maximum number of attestations per tool that a search reads, since a search returns up to a hundred tools.
const COUNTED: i64 = 20;

/// The maximum number of attestations that a key can post for a version, so that a single key cannot fill the list.
const OF_ONE_KEY: usize = 20;

/// An attestation, and the archive that it was posted for.
pub struct Claim {
    row: Attestation,
    bundle: Arc<Bundle>,
    subject: Subject,
}

impl Claim {
    /// Returns the attestations of a version, oldest first.
    pub fn all(db: &Db<'_>, package: &PackageRow) -> Result<Vec<Self>> {
        Self::first(db, package, i64::MAX)
    }

    fn first(db: &Db<'_>, package: &PackageRow, most: i64) -> Result<Vec<Self>> {
        let release = &package.release;
        let subject = Subject { name: release.name.clone(), version: release.version.clone(), sha256: release.sha256 };
        let root = Root::of_user(&Approved::of_user())?;
        let claims = rows::first(db, &release.sha256, most)?.into_iter().map(|row| {
            let (_, bundle) = read(&row.bundle, &root);
            Self { row, bundle, subject: subject.clone() }
        });
        Ok(claims.collect())
    }

    /// Returns the first signer with a valid signature.
    fn signer(&self) -> Option<&Identity> {
        self.bundle.signers.iter().find_map(|signer| signer.as_ref().ok())
    }

    /// Returns the claim of the statement, if it is about exactly this archive.
    fn assertion(&self) -> Option<Assertion> {
        let statement = self.bundle.statement.as_ref().ok()?;
        let is_this = statement.about(&self.subject) == About::This && statement.predicate_names(&self.subject);
        is_this.then(|| Statement::assertion(statement))
    }

    /// Returns whether the attestation is signed and says that this archive failed an audit.
    fn is_veto(&self) -> bool {
        self.signer().is_some() && self.assertion() == Some(Assertion::Audited(Outcome::Failed))
    }

    fn is_of(&self, auditor: &str) -> bool {
        self.signer().is_some_and(|signer| signer.as_str() == auditor || signer.fingerprint() == auditor)
    }

    /// Returns the attestation as JSON without its bundle.
    pub fn summary(&self) -> Value {
        let (kind, result) = match self.assertion() {
            Some(Assertion::Made) => (Some("publisher"), None),
            Some(Assertion::Audited(outcome)) => (Some("auditor"), Some(outcome.word())),
            None => (None, None),
        };
        json!({
            "auditor": self.signer().map(Identity::as_str),
            "part": kind,
            "result": result,
            "sha256": hex::encode(&self.row.sha256),
            "posted_by": self.row.poster,
            "created_at": rfc3339(self.row.added_at),
        })
    }

    fn with_bundle(&self) -> Value {
        let mut summary = self.summary();
        summary["bundle"] = serde_json::from_str(&self.row.bundle).unwrap_or_else(|_| json!(self.row.bundle));
        summary
    }
}

/// Counts the auditors that report a passed audit of an archive, among the archive's first `COUNTED` attestations.
/// The client decides whether to trust these auditors.
pub fn auditors(db: &Db<'_>, package: &PackageRow) -> Result<usize> {
    let claims = Claim::first(db, package, COUNTED)?;
    let passed = claims.iter().filter(|claim| {
        matches!(claim.assertion(), Some(Assertion::Audited(Outcome::Passed | Outcome::PassedWithWarnings)))
    });
    Ok(passed.filter_map(Claim::signer).collect::<BTreeSet<_>>().len())
}

pub fn list(context: &Context, head: &Head, name: &Name, version: &Version) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&head.query)?;
    let limit = parameters.number("limit", LISTED, u32::MAX)?.clamp(1, MAX_ATTESTATIONS as u32);
    let offset = parameters.number("offset", 0, u32::MAX)?;
    let claims = of_version(context, name, version)?.1;
    let page = claims.iter().skip(offset as usize).take(limit as usize).map(Claim::with_bundle);
    let answer = json!({
        "attestations": page.collect::<Vec<Value>>(),
        "total": claims.len(),
        "limit": limit,
        "offset": offset,
    });
    Ok(Answer::json(StatusCode::OK, &answer))
}

/// Returns the attestation of an auditor: a failed audit if there is one, else the latest attestation.
pub fn one(context: &Context, name: &Name, version: &Version, auditor: &str) -> Result<Answer, Failure> {
    let claims = of_version(context, name, version)?.1;
    let mut of_auditor = claims.iter().rev().filter(|claim| claim.is_of(auditor));
    let found = of_auditor.clone().find(|claim| claim.is_veto()).or_else(|| of_auditor.next());
    let Some(claim) = found else { return Err(nobody(name, version, auditor)) };
    Ok(Answer::json(StatusCode::OK, &claim.with_bundle()["bundle"]))
}

/// Stores any readable attestation as an unverified claim, whatever its signer and content, up to the limits per
/// version and per key.
pub fn post(
    context: &Context,
    name: &Name,
    version: &Version,
    body: &mut (dyn Read + Send),
) -> Result<Answer, Failure> {
    let mut body = json_body(body)?;
    let bundle = match body.get_mut("bundle").map(Value::take) {
        Some(bundle @ Value::Object(_)) => bundle.to_string(),
        Some(Value::String(bundle)) => bundle,
        _ => return Err(Failure::bad_request("The body must contain an object `bundle`")),
    };
    if bundle.len() as u64 > MAX_ATTESTATION {
        return Err(Failure::too_large(format!("The attestation is larger than {MAX_ATTESTATION} bytes")));
    }
    if let Err(why) = &read(&bundle, &Root::of_user(&context.approved)?).1.statement {
        return Err(Failure::invalid(format!("Cannot read the attestation: {why}")));
    }
    let (author, key) = (context.author(), context.caller.key());
    let (added, claim) = context
        .store
        .write(|db| {
            let row = Local::new(context).row(db, name, version)?;
            let there = Claim::all(db, &row)?;
            let find = |claims: Vec<Claim>| claims.into_iter().find(|claim| claim.row.bundle == bundle);
            let of_key = there.iter().filter(|claim| claim.row.poster.as_deref() == key).count();
            let is_full = there.len() >= MAX_ATTESTATIONS || of_key >= OF_ONE_KEY;
            if let Some(claim) = find(there) {
                return Ok((false, Some(claim)));
            }
            if is_full {
                return Ok((false, None));
            }
            rows::insert(db, &row.release.sha256, &bundle, key, author.now)?;
            context.event(db, author, None, "tool.attest", &format!("{name}@{version}"))?;
            Ok((true, find(Claim::all(db, &row)?)))
        })
        .inspect_err(|error| context.refused_there("tool.attest", &format!("{name}@{version}"), error))?;
    let Some(claim) = claim else {
        let why = format!("Too many attestations for {name}@{version}, from this key or in total");
        return Err(Failure::new(StatusCode::CONFLICT, "CONFLICT", why));
    };
    Ok(Answer::json(if added { StatusCode::CREATED } else { StatusCode::OK }, &claim.summary()))
}

/// Revokes the attestations of a version by one signer. The caller's access key must have posted all of them. A failed
/// audit cannot be revoked, because others rely on the warning.
pub fn revoke(
    context: &Context,
    head: &Head,
    name: &Name,
    version: &Version,
    body: &mut (dyn Read + Send),
) -> Result<Answer, Failure> {
    let asked = Parameters::of(&head.query)?.text("auditor").to_owned();
    let auditor = match asked.is_empty() {
        false => asked,
        true => json_body(body)?["auditor"].as_str().unwrap_or_default().to_owned(),
    };
    if auditor.is_empty() {
        return Err(Failure::bad_request("Pass the attestation's signer as `auditor`"));
    }
    let (row, claims) = of_version(context, name, version)?;
    let claims: Vec<Claim> = claims.into_iter().filter(|claim| claim.is_of(&auditor)).collect();
    if claims.is_empty() {
        return Err(nobody(name, version, &auditor));
    }
    if claims.iter().any(|claim| claim.row.poster.as_deref() != context.caller.key()) {
        return Err(Failure::forbidden("Only the access key that posted this attestation can revoke it"));
    }
    if claims.iter().any(Claim::is_veto) {
        return Err(Failure::forbidden("A failed audit cannot be revoked, so that the warning stays visible"));
    }
    let author = context.author();
    context.store.write(|db| {
        claims.iter().try_for_each(|claim| rows::remove(db, &row.release.sha256, &claim.row.sha256))?;
        context.event(db, author, None, "tool.attestation.remove", &format!("{name}@{version}"))
    })?;
    let revoked = claims.iter().map(|claim| hex::encode(&claim.row.sha256)).collect::<Vec<_>>();
    Ok(Answer::json(StatusCode::OK, &json!({ "auditor": auditor, "revoked": true, "sha256": revoked })))
}

fn of_version(context: &Context, name: &Name, version: &Version) -> Result<(PackageRow, Vec<Claim>)> {
    context.store.read(|db| {
        let row = Local::new(context).row(db, name, version)?;
        let claims = Claim::all(db, &row)?;
        Ok((row, claims))
    })
}

fn nobody(name: &Name, version: &Version, auditor: &str) -> Failure {
    Failure::not_found(format!("{name}@{version} has no attestation by '{}'", auditor.escape_debug()))
}
