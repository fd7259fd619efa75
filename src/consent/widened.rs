//! A yes that is widened: for a time, plans of an asker that do nothing but read from one catalog need no request of their own.
//!
//! That is kept outside of the database, as every approval is, and is never so by default. It is bound to who asked, the project, and
//! the catalog with its address: one that is served elsewhere since is asked about again.

use serde_json::{Value, json};
use uuid::Uuid;

use super::event;
use super::reads::{Reads, digest, is_good};
use super::request::{Consent, has_terminal};
use crate::approved::Kind;
use crate::clock::Millis;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::store::catalogs;
use crate::store::consents::Request;

/// The longest that a yes is widened for: a day.
pub const LONGEST: Millis = 24 * 60 * 60_000;

/// Widens the yes to a request to all reads of a catalog for so many milliseconds; returns when it ends.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` without a person at a terminal; `E_INVALID_ARGUMENT` for a span of nothing or of more than a day;
/// `E_NOT_FOUND` where there is no such catalog; `E_UNAPPROVED` where the user has no home; `E_DB_BUSY`, `E_STORAGE`,
/// `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
pub fn widen(context: &Context, request: &Request, catalog: &str, span: Millis) -> Result<Millis> {
    if !has_terminal(context) {
        let why = "Only a person at a terminal consents to all reads of a catalog; there is no --yes for it";
        return Err(Error::new(Code::TerminalRequired, why));
    }
    check(span)?;
    let (now, base_url) = (context.clock.now(), base_url(context, catalog)?);
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
    let digest = digest(&request.asker, &request.project, catalog, base_url.as_deref());
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

/// Refuses a span that a yes is not widened for.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub fn check(span: Millis) -> Result<()> {
    match (1..=LONGEST).contains(&span) {
        true => Ok(()),
        false => {
            Err(Error::new(Code::InvalidArgument, "A consent is widened for a minute at least, and a day at most"))
        }
    }
}

/// Returns where a catalog is served.
///
/// # Errors
/// `E_NOT_FOUND`; `E_DB_BUSY`, `E_STORAGE`.
pub fn base_url(context: &Context, catalog: &str) -> Result<Option<String>> {
    Ok(context.store.read(|db| catalogs::get(db, catalog))?.facts.base_url)
}

/// Returns the yes to all reads of a catalog that this caller has in a project, where there is one.
///
/// # Errors
/// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
pub fn granted(context: &Context, project: &str, catalog: &str, base_url: Option<&str>) -> Result<Option<Consent>> {
    Ok(Reads::of(context, project, catalog, base_url)?.map(Consent::to_reads))
}

/// What the yes to a request was widened to, while that holds.
#[derive(Clone, Debug)]
pub struct Wider {
    /// The request.
    pub consent: Uuid,
    /// Who may read.
    pub asker: String,
    /// The catalog, all reads of which need no request of their own.
    pub catalog: String,
    /// When that ends, in milliseconds.
    pub expires_at: Millis,
}

/// Returns what was widened on this machine and holds now; the first to end comes first.
///
/// # Errors
/// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
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

/// Takes back what the yes to a request was widened to; returns whether it was.
///
/// # Errors
/// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
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

/// Takes away the records of what ran out.
fn sweep(context: &Context, now: Millis) -> Result<()> {
    for (sha256, note) in context.approved.all(Kind::Reads)? {
        if !is_good(&note, now) {
            context.approved.withdraw(Kind::Reads, &sha256)?;
        }
    }
    Ok(())
}
