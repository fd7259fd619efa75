//! Describes an access key: what it allows, and whether it is still valid.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::access::key;
use crate::op::Names;
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_store::access::{self, Key};
use mcpkg_store::page::Page;
use mcpkg_store::{Db, projects};

/// Shell completion for the names of access keys that were not revoked.
pub(super) const KEYS: Names = Names::Stored(|typed| {
    let keys = access::list(typed.db, &Page::all())?.rows;
    Ok(typed.matching(keys.into_iter().filter(|key| key.revoked_at.is_none()).map(|key| key.name)))
});

/// Finds a key by its name or by the key itself: you can revoke a key that leaked without knowing its name.
pub(super) fn wanted(db: &Db<'_>, name: &str) -> Result<Key> {
    match key::parse(name) {
        Some(parts) => match access::find(db, parts.id)? {
            Some((key, _)) => Ok(key),
            None => Err(Error::new(
                Code::NotFound,
                format!("The access key {} does not belong to this database", redact(name)),
            )),
        },
        None => access::get(db, name),
    }
}

/// Returns the name of a key's project; `None` if it was deleted, or if the key is for all projects.
pub(super) fn project_name(db: &Db<'_>, project: Option<Uuid>) -> Result<Option<String>> {
    Ok(match project {
        Some(uuid) => projects::by_uuid(db, uuid)?.map(|project| project.name),
        None => None,
    })
}

/// Describes what a key allows, for `access list` and `access show`.
pub(super) fn may(key: &Key) -> String {
    rights(key.read_only, key.consent, key.execute, &key.publish, key.attest)
}

/// Describes the rights that a key or a rule gives.
pub(super) fn rights(read_only: bool, consent: bool, execute: bool, publish: &[String], attest: bool) -> String {
    let mut words = match (read_only, consent) {
        (true, _) => "read",
        (false, false) => "read, write",
        (false, true) => "read, write, consent",
    }
    .to_owned();
    if execute {
        words += ", execute";
    }
    if !publish.is_empty() {
        words += &format!(", publish {}", publish.join(" "));
    }
    if attest {
        words += ", attest";
    }
    words
}

/// Describes what a key allows on a server's registry, other than reading.
pub(super) fn at_registry(key: &Key) -> Option<String> {
    let namespaces = key.publish.join(", ");
    match (key.publish.is_empty(), key.attest) {
        (true, false) => None,
        (true, true) => Some("can post attestations".to_owned()),
        (false, false) => Some(format!("can publish tools in {namespaces}")),
        (false, true) => Some(format!("can publish tools in {namespaces}, and post attestations")),
    }
}

/// Whether a key is for a project that was deleted.
pub(super) fn project_is_gone(key: &Key, project: Option<&str>) -> bool {
    key.project.is_some() && project.is_none()
}

/// Returns whether a key is still valid, and if not, why.
pub(super) fn state(key: &Key, project_is_gone: bool, now: Millis) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|at| now >= at) {
        "expired"
    } else if project_is_gone {
        "project gone"
    } else {
        "active"
    }
}

/// Returns a key as JSON: its name, what it allows, and whether it is valid.
pub(super) fn data(key: &Key, project: Option<&str>, now: Millis) -> Value {
    json!({
        "name": key.name,
        "id": key.key_id,
        "project": project,
        "project_id": key.project.map(|uuid| uuid.to_string()),
        "read_only": key.read_only,
        "consent": key.consent,
        "publish": key.publish,
        "attest": key.attest,
        "execute": key.execute,
        "created_at": rfc3339(key.created_at),
        "expires_at": key.expires_at.map(rfc3339),
        "revoked_at": key.revoked_at.map(rfc3339),
        "state": state(key, project_is_gone(key, project), now),
    })
}
