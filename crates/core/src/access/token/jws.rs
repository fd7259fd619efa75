//! Takes JSON Web Tokens apart, and checks their signatures.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Refused;
use super::keys::{Algorithm, Keys};

/// The maximum length of a token.
const MAX_TOKEN: usize = 16 << 10;

/// The fields of a token's header that mcpkg reads. Keys in the header itself (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    /// Extensions that must be understood; mcpkg understands none.
    crit: Option<Value>,
}

/// A token whose signature is still to be checked. There is no `Debug` implementation, so that logs cannot show it.
pub(super) struct Unchecked<'a> {
    header: Header,
    signed: &'a str,
    pub(super) claims: Map<String, Value>,
    signature: Vec<u8>,
}

/// Whether a text has the form of a JSON Web Token. Such a text is never an attempt to guess an access key.
pub fn is_token(text: &str) -> bool {
    let mut parts = text.split('.');
    let header = parts.next().and_then(|header| URL_SAFE_NO_PAD.decode(header).ok());
    let header = header.and_then(|header| serde_json::from_slice::<Header>(&header).ok());
    header.is_some() && parts.count() == 2
}

/// Parses a token. Refuses it if it is too long, has extensions, or is not an access token.
pub(super) fn read(token: &str) -> Result<Unchecked<'_>, Refused> {
    if token.len() > MAX_TOKEN {
        return Err(Refused::TooLong);
    }
    let unchecked = parse(token)?;
    if unchecked.header.crit.is_some() {
        return Err(Refused::Malformed);
    }
    // ID tokens often have the type `JWT` too; the check of the audience refuses them. Other kinds of tokens have
    // types of their own.
    let typ = unchecked.header.typ.as_deref().map(str::to_ascii_lowercase);
    match typ.as_deref().map(|typ| typ.strip_prefix("application/").unwrap_or(typ)) {
        None | Some("at+jwt" | "jwt") => Ok(unchecked),
        Some(_) => Err(Refused::Kind),
    }
}

fn parse(token: &str) -> Result<Unchecked<'_>, Refused> {
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| Refused::Malformed);
    let (signed, signature) = token.rsplit_once('.').ok_or(Refused::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(Refused::Malformed)?;
    let header = serde_json::from_slice(&decode(header)?).map_err(|_| Refused::Malformed)?;
    let claims = serde_json::from_slice(&decode(claims)?).map_err(|_| Refused::Malformed)?;
    Ok(Unchecked { header, signed, claims, signature: decode(signature)? })
}

impl Unchecked<'_> {
    /// Checks that one of the keys signed the token.
    pub(super) fn check_signature(&self, keys: &Keys) -> Result<(), Refused> {
        let algorithm = Algorithm::named(&self.header.alg).ok_or(Refused::Algorithm)?;
        let key = keys.find(self.header.kid.as_deref(), algorithm)?;
        key.verify(algorithm, self.signed.as_bytes(), &self.signature)
    }
}
