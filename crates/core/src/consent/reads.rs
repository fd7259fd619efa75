//! Approvals of all plans that only read from one catalog (see [`super::widened`]), each stored as a record outside
//! the database.

use serde_json::{Value, json};

use super::{event, in_time};
use crate::op::Context;
use mcpkg_base::approved::Kind;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_store::Db;

/// An approval of all plans that only read from one catalog, as read from its record.
#[derive(Debug)]
pub(super) struct Reads {
    digest: String,
    consent: String,
    project: String,
}

impl Reads {
    /// Returns this caller's approval in a project, if there is one.
    pub(super) fn of(context: &Context, project: &str, catalog: &str, base_url: Option<&str>) -> Result<Option<Self>> {
        let digest = digest(&context.caller.asker(), project, catalog, base_url);
        let note = context.approved.get(Kind::Reads, &digest)?.filter(|note| is_good(note, context.clock.now()));
        Ok(note.map(|note| {
            let consent = note["consent"].as_str().unwrap_or_default().to_owned();
            Self { digest, consent, project: project.to_owned() }
        }))
    }

    /// Appends an event about the use of the approval, in the transaction of the operation that uses it.
    ///
    /// # Errors
    /// `E_CONSENT_EXPIRED` if the approval was taken back or has expired.
    pub(super) fn used(&self, context: &Context, db: &Db<'_>) -> Result<()> {
        let note = context.approved.get(Kind::Reads, &self.digest)?;
        if note.is_none_or(|note| !is_good(&note, context.clock.now())) {
            let why = "The consent to all reads of the catalog was revoked or has expired";
            return Err(Error::new(Code::ConsentExpired, why).with_details(json!({ "consent": self.consent })));
        }
        event(context, db, "consent.reads", &self.project, &self.consent)
    }
}

/// Whether a record is still valid.
pub(super) fn is_good(note: &Value, now: Millis) -> bool {
    match (note["approved_at"].as_i64(), note["expires_at"].as_i64()) {
        (Some(approved_at), Some(expires_at)) => in_time(approved_at, expires_at, now),
        _ => false,
    }
}

/// Returns the name of the record: a hash of the asker, the project, the catalog and its address.
pub(super) fn digest(asker: &str, project: &str, catalog: &str, base_url: Option<&str>) -> String {
    sha256::hex(json!([asker, project, catalog, base_url]).to_string().as_bytes())
}
