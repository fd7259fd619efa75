//! The claims of a token, and the checks that they must pass.

use serde_json::{Map, Value};

use super::Refused;
use mcpkg_base::clock::Millis;
use mcpkg_base::sha256;

/// How far the clocks of the issuer and of this server may differ.
const LEEWAY: Millis = 60_000;

/// The longest name of a person that is kept, in characters.
const MAX_NAME: usize = 64;

/// The claims that may contain a readable name of the person. The first one that the token has is used.
const NAMES: [&str; 3] = ["preferred_username", "upn", "email"];

/// The claims of a token. There is no `Debug` implementation, so that logs cannot show them.
pub struct Claims {
    all: Map<String, Value>,
    expires_at: Millis,
    name: String,
}

impl Claims {
    /// Checks a token's claims, except for the audience. `issuer` is the only accepted issuer.
    pub(in crate::access) fn check(all: Map<String, Value>, issuer: &str, now: Millis) -> Result<Self, Refused> {
        if all.get("iss").and_then(Value::as_str) != Some(issuer) {
            return Err(Refused::Issuer);
        }
        // A token with `cnf` is bound to a key of the client (RFC 7800, DPoP). It is valid only together with a proof,
        // which mcpkg does not check. A token with `events` reports a security event (RFC 8417) and gives no access.
        if all.contains_key("cnf") || all.contains_key("events") {
            return Err(Refused::Kind);
        }
        let time = |name: &str| match all.get(name) {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a float that is too large becomes the largest number"
                )]
                Some(seconds) if seconds >= 0.0 => Ok(Some((seconds * 1000.0) as Millis)),
                _ => Err(Refused::Malformed),
            },
        };
        let expires_at = time("exp")?.ok_or(Refused::Malformed)?.saturating_add(LEEWAY);
        if now >= expires_at {
            return Err(Refused::Expired);
        }
        if time("nbf")?.is_some_and(|from| now < from.saturating_sub(LEEWAY)) {
            return Err(Refused::NotYetValid);
        }
        let name = name(&all, issuer).ok_or(Refused::Kind)?;
        Ok(Self { all, expires_at, name })
    }

    /// Whether the token is for one of these audiences.
    pub fn is_for<'a>(&self, mut audiences: impl Iterator<Item = &'a str>) -> bool {
        audiences.any(|audience| holds(self.all.get("aud"), audience))
    }

    /// Checks that this is the ID token of one sign-in of a person (OpenID Connect Core, 3.1.3.7): it was issued to
    /// `client`, and contains the number that was sent to the issuer.
    pub(super) fn check_id(&self, client: &str, nonce: &str) -> Result<(), Refused> {
        let is_for_several = matches!(self.all.get("aud"), Some(Value::Array(all)) if all.len() > 1);
        let is_to_client = match self.all.get("azp") {
            None => !is_for_several,
            Some(party) => party.as_str() == Some(client),
        };
        if !is_to_client || !self.is_for(std::iter::once(client)) {
            return Err(Refused::Client);
        }
        if self.all.get("nonce").and_then(Value::as_str) != Some(nonce) {
            return Err(Refused::Nonce);
        }
        if self.name.starts_with("person:") { Ok(()) } else { Err(Refused::Program) }
    }

    /// Returns the time from which the token is no longer accepted.
    pub fn expires_at(&self) -> Millis {
        self.expires_at
    }

    /// Returns the name under which the caller appears: `person:NAME` or `program:NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the scopes of the token, separated by spaces.
    pub fn scopes(&self) -> &str {
        ["scope", "scp"].into_iter().find_map(|name| self.all.get(name)?.as_str()).unwrap_or_default()
    }

    /// Whether a claim equals `value`, or is a list that contains it. The name `a.b` stands for the claim with this
    /// name or, if there is none, for the field `b` of the claim `a`. In `scope` and `scp`, spaces separate the values.
    pub fn has(&self, name: &str, value: &str) -> bool {
        match name {
            "scope" | "scp" => match self.all.get(name) {
                Some(Value::String(scopes)) => scopes.split(' ').any(|scope| scope == value),
                other => holds(other, value),
            },
            _ => holds(find(&self.all, name), value),
        }
    }
}

fn find<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(found) = claims.get(name) {
        return Some(found);
    }
    let (first, rest) = name.split_once('.')?;
    find(claims.get(first)?.as_object()?, rest)
}

fn holds(found: Option<&Value>, value: &str) -> bool {
    match found {
        Some(Value::String(text)) => text == value,
        Some(Value::Array(values)) => values.iter().any(|one| one.as_str() == Some(value)),
        Some(Value::Bool(flag)) => flag.to_string() == value,
        _ => false,
    }
}

/// Returns the name of the person or program that the token stands for. If the readable name is not `sub` itself, the
/// name ends in a hash of the issuer and `sub`, so that two people with the same readable name have different names.
fn name(claims: &Map<String, Value>, issuer: &str) -> Option<String> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let client = text("client_id").or_else(|| text("azp"));
    let subject = text("sub").or(client)?;
    let kind = if client == Some(subject) { "program" } else { "person" };
    let readable = NAMES.into_iter().find_map(text).unwrap_or(subject);
    let plain = |c: char| if c.is_alphanumeric() || "@._+-".contains(c) { c } else { '_' };
    let shown: String = readable.chars().take(MAX_NAME).map(plain).collect();
    if shown == subject {
        return Some(format!("{kind}:{shown}"));
    }
    let mark = sha256::hex(format!("{issuer}\n{subject}"));
    Some(format!("{kind}:{shown}#{}", &mark[..8]))
}
