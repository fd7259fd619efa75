//! Checks the access key of a request, and returns what it allows.

use subtle::ConstantTimeEq;

use super::refused::Refused;
use super::rules::{Rules, namespaces};
use super::{key, token};
use crate::op::{Grant, Holder, Namespace};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Result};
use mcpkg_store::access::Key;
use mcpkg_store::{Db, access, projects};

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
        let why = if token::is_token(presented) { Refused::NoTokens } else { Refused::Malformed };
        return Ok(Err(why));
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
    let publish = of_key(&key)?;
    Ok(Ok(Grant {
        holder: Holder::Key(key.name),
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
/// has the same name. For a token, the rules have to give the same rights. Servers check this for streams that stay open.
pub fn holds(db: &Db<'_>, now: Millis, grant: &Grant) -> Result<bool> {
    let name = match &grant.holder {
        Holder::Key(name) => name,
        Holder::SignedIn(holder) => {
            let is_over = grant.expires_at.is_some_and(|expires_at| now >= expires_at);
            return Ok(!is_over && Rules::load(db)?.hold(grant, holder));
        }
    };
    let key = match access::get(db, name) {
        Ok(key) => key,
        Err(error) if error.code() == Code::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let good = key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| now < expires_at);
    let same = key.project == grant.project
        && (key.read_only, key.consent, key.attest, key.execute)
            == (grant.read_only, grant.consent, grant.attest, grant.execute)
        && of_key(&key)? == grant.publish;
    if !good || !same {
        return Ok(false);
    }
    match key.project {
        None => Ok(true),
        Some(uuid) => Ok(projects::by_uuid(db, uuid)?.map(|project| project.name) == grant.project_name),
    }
}

fn of_key(key: &Key) -> Result<Vec<Namespace>> {
    namespaces(&key.publish, || format!("access key '{}'", key.name))
}

/// Whether an HTTP server requires a key. It does once a key has been created, even if all keys were revoked later. It
/// also does after a restore, if the replaced database required a key or could not be read.
pub fn required(db: &Db<'_>) -> Result<bool> {
    access::required(db)
}
