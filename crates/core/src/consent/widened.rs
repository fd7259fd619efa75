//! Widened approvals: for a limited time, a caller may read from one catalog without a new request for each plan.
//!
//! Like every approval, a widened one is stored outside the database. A person must choose to widen. The approval is
//! bound to the caller, the project, and the catalog with its address. If the catalog moves to another address, mcpkg
//! asks again.

use serde_json::{Value, json};
use uuid::Uuid;

use super::event;
use super::reads::{Reads, digest, is_good};
use super::request::{Consent, has_terminal};
use crate::op::Context;
use mcpkg_base::approved::Kind;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::catalogs;
use mcpkg_store::consents::Request;

/// The maximum duration of a widened approval: a day.
pub const LONGEST: Millis = 24 * 60 * 60_000;

/// Widens the approval of a request to all plans that only read from one catalog, for `span` milliseconds. `base_url` is
/// the catalog's address that the person saw. Returns the time when the widened approval expires.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` without a person at a terminal; `E_INVALID_ARGUMENT` if the span is zero or more than a day;
/// `E_UNAPPROVED` if the user has no home directory.
pub fn widen(
    context: &Context,
    request: &Request,
    catalog: &str,
    base_url: Option<&str>,
    span: Millis,
) -> Result<Millis> {
    if !has_terminal(context) {
        let why = "Only a person at a terminal can consent to all reads of a catalog; --yes does not apply";
        return Err(Error::new(Code::TerminalRequired, why));
    }
    check(span)?;
    let now = context.clock.now();
    sweep(context, now)?;
    let expires_at = now.saturating_add(span);
    let note = json!({
        "consent": request.uuid.to_string(),
        "asker": request.asker,
        "project": request.project,
        "catalog": catalog,
        "base_url": base_url,
        "approved_at": now,
        "expires_at": expires_at,
    });
    let digest = digest(&request.asker, &request.project, catalog, base_url);
    context.approved.put(Kind::Reads, &digest, &note)?;
    let told = context.store.write(|db| {
        let subject = format!("{} {catalog}", request.uuid);
        event(context, db, "consent.widen", &request.project, &subject)
    });
    if told.is_err() {
        context.approved.withdraw(Kind::Reads, &digest)?;
    }
    told.map(|()| expires_at)
}

/// Refuses a span that is zero or longer than [`LONGEST`].
pub fn check(span: Millis) -> Result<()> {
    match (1..=LONGEST).contains(&span) {
        true => Ok(()),
        false => Err(Error::new(Code::InvalidArgument, "--for must be between one minute and one day")),
    }
}

/// Returns the base URL of a catalog's API.
pub fn base_url(context: &Context, catalog: &str) -> Result<Option<String>> {
    Ok(context.store.read(|db| catalogs::get(db, catalog))?.facts.base_url)
}

/// Returns the consent from a widened approval that this caller has for a catalog in a project, if any.
pub fn granted(context: &Context, project: &str, catalog: &str, base_url: Option<&str>) -> Result<Option<Consent>> {
    Ok(Reads::of(context, project, catalog, base_url)?.map(Consent::to_reads))
}

/// A widened approval that is still valid.
#[derive(Clone, Debug)]
pub struct Wider {
    pub consent: Uuid,
    pub asker: String,
    /// The catalog from which the caller may read.
    pub catalog: String,
    /// The time when the approval expires, in milliseconds since 1970.
    pub expires_at: Millis,
}

/// Returns the widened approvals that are valid on this machine now, sorted by expiry.
pub fn standing(context: &Context) -> Result<Vec<Wider>> {
    let now = context.clock.now();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wider = |note: Value| {
        Some(Wider {
            consent: Uuid::parse_str(note["consent"].as_str()?).ok()?,
            asker: text(&note["asker"]),
            catalog: text(&note["catalog"]),
            expires_at: note["expires_at"].as_i64()?,
        })
    };
    let notes = context.approved.all(Kind::Reads)?.into_iter().map(|(_, note)| note);
    let mut standing: Vec<Wider> = notes.filter(|note| is_good(note, now)).filter_map(wider).collect();
    standing.sort_by_key(|wider| (wider.expires_at, wider.consent));
    Ok(standing)
}

/// Takes back the widened approval of a request. Returns whether there was one.
pub fn take_back(context: &Context, consent: Uuid) -> Result<bool> {
    let consent = consent.to_string();
    let mut was = false;
    for (sha256, note) in context.approved.all(Kind::Reads)? {
        if note["consent"] == consent {
            context.approved.withdraw(Kind::Reads, &sha256)?;
            was |= is_good(&note, context.clock.now());
        }
    }
    Ok(was)
}

/// Deletes the records of expired approvals.
fn sweep(context: &Context, now: Millis) -> Result<()> {
    for (sha256, note) in context.approved.all(Kind::Reads)? {
        if !is_good(&note, now) {
            context.approved.withdraw(Kind::Reads, &sha256)?;
        }
    }
    Ok(())
}
