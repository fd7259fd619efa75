//! The records of passkeys, and of the links that register them. They are outside the database.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::site::Site;
use super::webauthn::Created;
use crate::op::Context;
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::{hex, sha256};

/// How long a link works, in milliseconds.
const LINK: Millis = 5 * 60_000;

/// A link that registers a passkey.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The name that the passkey gets.
    pub name: String,
    /// The person that the passkey is for, if it is to answer for somebody who signed in with the issuer.
    pub person: Option<String>,
    pub(super) site: Site,
}

/// A registered passkey.
#[derive(Clone, Debug)]
pub struct Passkey {
    /// The SHA-256 of the credential's id, in hex. It names the record.
    pub id: String,
    /// The name that a person at a terminal gave it, such as `alice-phone`.
    pub name: String,
    /// The person for whom it answers, as the server names people who sign in with the issuer.
    pub person: Option<String>,
    pub added_at: Millis,
    /// The credential's id, as the authenticator knows it.
    pub credential: Vec<u8>,
    pub(super) site: Site,
    /// The uncompressed point of the public key.
    pub(super) key: Vec<u8>,
    /// The authenticator's counter. It and `used_at` are in a record of their own, so a server that writes them cannot bring
    /// back a passkey that was removed at the same time.
    pub(super) count: u32,
    pub used_at: Option<Millis>,
}

impl Invitation {
    /// Makes a link to the page that registers a passkey. Also deletes expired links.
    pub(super) fn link(context: &Context, name: &str, person: Option<&str>, site: &Site) -> Result<String> {
        let (approved, now) = (&context.approved, context.clock.now());
        for (old, note) in approved.all(Kind::PasskeyLink)? {
            if !is_good(&note, now) {
                approved.withdraw(Kind::PasskeyLink, &old)?;
            }
        }
        let token = hex::encode(&context.clock.secret()?);
        let expires = now.saturating_add(LINK);
        let note = json!({ "name": name, "person": person, "address": site.origin, "expires": expires });
        approved.put(Kind::PasskeyLink, &sha256::hex(&token), &note)?;
        Ok(format!("{}/passkey?token={token}", site.origin))
    }

    /// Returns the invitation of a link, if the link can still be used.
    pub(super) fn find(approved: &Approved, token: &str, now: Millis) -> Result<Option<Self>> {
        let note = approved.get(Kind::PasskeyLink, &sha256::hex(token))?.filter(|note| is_good(note, now));
        Ok(note.and_then(|note| {
            Some(Self { name: text(&note, "name")?, person: text(&note, "person"), site: site(&note)? })
        }))
    }

    pub(super) fn use_up(approved: &Approved, token: &str) -> Result<()> {
        approved.withdraw(Kind::PasskeyLink, &sha256::hex(token))
    }
}

impl Passkey {
    pub(super) fn new(invitation: Invitation, created: Created, now: Millis) -> Self {
        let Invitation { name, person, site } = invitation;
        let Created { credential, key, count } = created;
        Self { id: sha256::hex(&credential), name, person, added_at: now, credential, site, key, count, used_at: None }
    }

    /// Returns the address of the server that the passkey is for.
    pub fn address(&self) -> &str {
        &self.site.origin
    }

    pub(super) fn find(approved: &Approved, id: &str) -> Result<Option<Self>> {
        let Some(note) = approved.get(Kind::Passkey, id)? else { return Ok(None) };
        Self::read(approved, id, &note)
    }

    pub(super) fn all(approved: &Approved) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for (id, note) in approved.all(Kind::Passkey)? {
            all.extend(Self::read(approved, &id, &note)?);
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    pub(super) fn named(approved: &Approved, name: &str) -> Result<Option<Self>> {
        Ok(Self::all(approved)?.into_iter().find(|passkey| passkey.name == name))
    }

    fn read(approved: &Approved, id: &str, note: &Value) -> Result<Option<Self>> {
        let used = approved.get(Kind::PasskeyUse, id)?.unwrap_or_default();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(note[name].as_str()?).ok();
        let count = |note: &Value| note["count"].as_u64().and_then(|count| u32::try_from(count).ok());
        let passkey = || {
            Some(Self {
                id: id.to_owned(),
                name: text(note, "name")?,
                person: text(note, "person"),
                added_at: note["added"].as_i64()?,
                credential: bytes("credential")?,
                site: site(note)?,
                key: bytes("key")?,
                count: count(&used).or_else(|| count(note))?,
                used_at: used["used"].as_i64(),
            })
        };
        Ok(passkey().filter(|passkey| sha256::hex(&passkey.credential) == id))
    }

    pub(super) fn put(&self, approved: &Approved) -> Result<()> {
        let note = json!({
            "name": self.name,
            "person": self.person,
            "address": self.site.origin,
            "credential": URL_SAFE_NO_PAD.encode(&self.credential),
            "key": URL_SAFE_NO_PAD.encode(&self.key),
            "count": self.count,
            "added": self.added_at,
        });
        approved.put(Kind::Passkey, &self.id, &note)
    }

    /// Records that the passkey was used, and the new value of its counter.
    pub(super) fn used(&self, approved: &Approved, count: u32, now: Millis) -> Result<()> {
        approved.put(Kind::PasskeyUse, &self.id, &json!({ "count": count, "used": now }))
    }

    pub(super) fn remove(&self, approved: &Approved) -> Result<()> {
        approved.withdraw(Kind::Passkey, &self.id)?;
        approved.withdraw(Kind::PasskeyUse, &self.id)
    }
}

/// Fails if a passkey already has this name.
pub(super) fn check_free(approved: &Approved, name: &str) -> Result<()> {
    match Passkey::named(approved, name)? {
        None => Ok(()),
        Some(_) => Err(Error::new(Code::AlreadyExists, format!("Passkey '{name}' already exists"))
            .hint(format!("choose another name, or remove it first: `mcpkg passkey remove {name}`"))),
    }
}

fn is_good(note: &Value, now: Millis) -> bool {
    note["expires"].as_i64().is_some_and(|expires| now < expires)
}

fn text(note: &Value, name: &str) -> Option<String> {
    note[name].as_str().map(str::to_owned)
}

fn site(note: &Value) -> Option<Site> {
    Site::parse(note["address"].as_str()?).ok()
}
