//! Checks the access key of a request, and returns what it allows.

use std::fmt;

use subtle::ConstantTimeEq;

use super::key;
use crate::op::{Grant, Namespace};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::access::Key;
use mcpkg_store::{Db, access, projects};

/// The reason why a request is refused. The answer reveals nothing about a key to a caller without its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no key.
    Missing,
    /// The text does not have the form of a key.
    Malformed,
    /// No key has this id, or the secret does not match.
    Unknown,
    Expired,
    Revoked,
    /// The key is for one project, which was deleted.
    ProjectGone,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Missing => "An access key is required; create one with `mcpkg access create NAME`",
            Refused::Malformed => "This is not an access key",
            Refused::Unknown => "This server does not know the access key",
            Refused::Expired => "The access key has expired",
            Refused::Revoked => "The access key was revoked",
            Refused::ProjectGone => "The project of the access key was deleted",
        })
    }
}

/// Returns what the key `presented` allows at the time `now`, or why it is refused. This is called for every request, so a
/// revoked key stops working at once.
///
/// Neither the answer nor its timing reveals whether a key with this id exists: a secret is hashed and compared in constant
/// time even if there is no row, and all further lookups come after that.
pub fn verify(db: &Db<'_>, now: Millis, presented: &str) -> Result<std::result::Result<Grant, Refused>> {
    if presented.is_empty() {
        return Ok(Err(Refused::Missing));
    }
    let Some(parts) = key::parse(presented) else {
        return Ok(Err(Refused::Malformed));
    };
    let hash = key::hash(parts.secret);
    let found = access::find(db, parts.id)?;
    let kept = found.as_ref().map_or([0; 32], |(_, kept)| *kept);
    let same = bool::from(hash.ct_eq(&kept));
    let Some((key, _)) = found.filter(|_| same) else {
        return Ok(Err(Refused::Unknown));
    };
    if key.revoked_at.is_some() {
        return Ok(Err(Refused::Revoked));
    }
    if key.expires_at.is_some_and(|expires_at| now >= expires_at) {
        return Ok(Err(Refused::Expired));
    }
    let project_name = match key.project {
        None => None,
        Some(uuid) => match projects::by_uuid(db, uuid)? {
            Some(project) => Some(project.name),
            None => return Ok(Err(Refused::ProjectGone)),
        },
    };
    let publish = namespaces(&key)?;
    Ok(Ok(Grant {
        key: key.name,
        project: key.project,
        project_name,
        read_only: key.read_only,
        consent: key.consent,
        publish,
        attest: key.attest,
        execute: key.execute,
        expires_at: key.expires_at,
    }))
}

/// Whether a key still allows what `grant` says: the key is still valid, its rights are the same, and its project still
/// has the same name. Servers check this for streams that stay open.
pub fn holds(db: &Db<'_>, now: Millis, grant: &Grant) -> Result<bool> {
    let key = match access::get(db, &grant.key) {
        Ok(key) => key,
        Err(error) if error.code() == Code::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let good = key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| now < expires_at);
    let same = key.project == grant.project
        && (key.read_only, key.consent, key.attest, key.execute)
            == (grant.read_only, grant.consent, grant.attest, grant.execute)
        && namespaces(&key)? == grant.publish;
    if !good || !same {
        return Ok(false);
    }
    match key.project {
        None => Ok(true),
        Some(uuid) => Ok(projects::by_uuid(db, uuid)?.map(|project| project.name) == grant.project_name),
    }
}

/// Returns the namespaces that a key may publish in.
fn namespaces(key: &Key) -> Result<Vec<Namespace>> {
    let odd = |error: Error| {
        let why = format!("The database is damaged: access key '{}' has an invalid namespace", key.name);
        Error::new(Code::Damaged, why).with_source(error)
    };
    key.publish.iter().map(|namespace| namespace.parse().map_err(odd)).collect()
}

/// Whether an HTTP server requires a key. It does as soon as the first key is created, and forever after: even if all keys
/// were revoked, or if a restore replaced a database that had one.
pub fn required(db: &Db<'_>) -> Result<bool> {
    access::required(db)
}
