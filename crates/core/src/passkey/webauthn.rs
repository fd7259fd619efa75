//! Checks what browsers and authenticators send (WebAuthn level 3): the client data, the authenticator data, the key of
//! a new passkey, and signatures. ES256 is the only algorithm, and attestations are not asked for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde::Deserialize;

use super::site::Site;
use mcpkg_base::sha256;

/// The flags of the authenticator data.
const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const HAS_KEY: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// The maximum length of a credential's id, in bytes.
const LONGEST_ID: usize = 1023;

/// The bytes of an ES256 key in COSE before its coordinates x and y: key type EC2, algorithm ES256, curve P-256. CTAP2
/// allows only one encoding of such a key and no other parameters, so comparing the bytes is the strictest way to parse it.
const COSE_X: [u8; 10] = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
const COSE_Y: [u8; 3] = [0x22, 0x58, 0x20];

/// The reason why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Malformed,
    Kind,
    Challenge,
    Origin,
    Framed,
    RelyingParty,
    NotPresent,
    NotVerified,
    Algorithm,
    Signature,
    Counter,
}

impl Refused {
    pub(super) const fn why(self) -> &'static str {
        match self {
            Refused::Malformed => "the browser's answer is malformed",
            Refused::Kind => "it is for another kind of request",
            Refused::Challenge => "it answers another question, or has expired",
            Refused::Origin => "it is for the pages of another server",
            Refused::Framed => "the page is a part of another page",
            Refused::RelyingParty => "it is for another host",
            Refused::NotPresent => "nobody touched the authenticator",
            Refused::NotVerified => "the authenticator did not verify who touched it",
            Refused::Algorithm => {
                "its algorithm is not ES256, the only one that mcpkg accepts; use another device or security key"
            }
            Refused::Signature => "the signature is wrong",
            Refused::Counter => "its counter went back, so the passkey may have been copied",
        }
    }
}

/// A new credential.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Created {
    pub(super) credential: Vec<u8>,
    /// The uncompressed point of the public key.
    pub(super) key: Vec<u8>,
    pub(super) count: u32,
}

/// Checks the answer to `navigator.credentials.create`.
pub(super) fn created(site: &Site, challenge: &[u8], client: &[u8], data: &[u8]) -> Result<Created, Refused> {
    check_client("webauthn.create", site, challenge, client)?;
    let data = Data::read(site, data)?;
    if data.flags & HAS_KEY == 0 {
        return Err(Refused::Malformed);
    }
    // Skip the authenticator's model (16 bytes), which proves nothing without an attestation. The length of the id follows,
    // and then the id.
    let rest = data.rest.get(16..).ok_or(Refused::Malformed)?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or(Refused::Malformed)?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (credential, rest) = rest.split_at_checked(length).ok_or(Refused::Malformed)?;
    if credential.is_empty() || credential.len() > LONGEST_ID {
        return Err(Refused::Malformed);
    }
    let (key, rest) = point(rest).ok_or(Refused::Algorithm)?;
    if !rest.is_empty() && data.flags & HAS_EXTENSIONS == 0 {
        return Err(Refused::Malformed);
    }
    Ok(Created { credential: credential.to_vec(), key, count: data.count })
}

/// Checks the answer to `navigator.credentials.get`, and that `key` signed it. Returns the new value of the counter.
pub(super) fn signed(
    (site, challenge): (&Site, &[u8]),
    (key, count): (&[u8], u32),
    (client, data, signature): (&[u8], &[u8], &[u8]),
) -> Result<u32, Refused> {
    check_client("webauthn.get", site, challenge, client)?;
    let read = Data::read(site, data)?;
    if read.flags & HAS_KEY != 0 || !read.rest.is_empty() && read.flags & HAS_EXTENSIONS == 0 {
        return Err(Refused::Malformed);
    }
    let message = [data, &sha256::of(client)].concat();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key);
    key.verify(&message, signature).map_err(|_| Refused::Signature)?;
    // Authenticators without a counter always send 0.
    if (read.count, count) != (0, 0) && read.count <= count {
        return Err(Refused::Counter);
    }
    Ok(read.count)
}

/// The client data: what the browser reports about the page. The signature covers the hash of the client data.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<String>,
}

fn check_client(kind: &str, site: &Site, challenge: &[u8], client: &[u8]) -> Result<(), Refused> {
    let client: Client = serde_json::from_slice(client).map_err(|_| Refused::Malformed)?;
    if client.r#type != kind {
        return Err(Refused::Kind);
    }
    if client.origin != site.origin {
        return Err(Refused::Origin);
    }
    if client.cross_origin || client.top_origin.is_some() {
        return Err(Refused::Framed);
    }
    let signed = URL_SAFE_NO_PAD.decode(&client.challenge).map_err(|_| Refused::Malformed)?;
    if signed == challenge { Ok(()) } else { Err(Refused::Challenge) }
}

/// The authenticator data.
struct Data<'a> {
    flags: u8,
    count: u32,
    rest: &'a [u8],
}

impl<'a> Data<'a> {
    /// Reads the data, and checks that it is for this site and that the authenticator verified its user.
    fn read(site: &Site, data: &'a [u8]) -> Result<Self, Refused> {
        let (host, rest) = data.split_first_chunk::<32>().ok_or(Refused::Malformed)?;
        let (&flags, rest) = rest.split_first().ok_or(Refused::Malformed)?;
        let (count, rest) = rest.split_first_chunk::<4>().ok_or(Refused::Malformed)?;
        if *host != sha256::of(&site.host) {
            return Err(Refused::RelyingParty);
        }
        if flags & PRESENT == 0 {
            return Err(Refused::NotPresent);
        }
        if flags & VERIFIED == 0 {
            return Err(Refused::NotVerified);
        }
        Ok(Self { flags, count: u32::from_be_bytes(*count), rest })
    }
}

/// Takes an ES256 key from the front of `cose`, and returns its point.
fn point(cose: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (x, rest) = cose.strip_prefix(&COSE_X)?.split_first_chunk::<32>()?;
    let (y, rest) = rest.strip_prefix(&COSE_Y)?.split_first_chunk::<32>()?;
    Some(([&[0x04][..], x, y].concat(), rest))
}
