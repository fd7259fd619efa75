//! The public keys of an issuer: a JSON Web Key Set.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::Value;

use super::Refused;

/// The most keys that are read.
const MAX_KEYS: usize = 100;

/// The accepted signature algorithms. They all use a public key, never a shared secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Algorithm::Rs256,
            "PS256" => Algorithm::Ps256,
            "ES256" => Algorithm::Es256,
            "ES384" => Algorithm::Es384,
            "EdDSA" | "Ed25519" => Algorithm::EdDsa,
            _ => return None,
        })
    }
}

/// The keys that an issuer publishes, without those that cannot check signatures.
pub(super) struct Keys(Vec<Key>);

pub(super) struct Key {
    id: Option<String>,
    /// The only algorithm that the issuer uses the key with, if it names one.
    algorithm: Option<Algorithm>,
    public: Public,
}

enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// A key in a JSON Web Key Set.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// Reads a key set, and skips the keys that cannot check signatures. Returns `None` if `text` is not a key set, or if no
    /// key is left.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let set: Set = serde_json::from_slice(text).ok()?;
        let keys: Vec<Key> = set.keys.into_iter().filter_map(Key::read).take(MAX_KEYS).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Returns the key with this id that can check signatures of this algorithm. If `id` is `None`, a key with any id fits.
    /// Fails if no key or several keys fit.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<&Key, Refused> {
        let mut named = self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id).peekable();
        if named.peek().is_none() {
            return Err(Refused::UnknownKey);
        }
        let mut fitting = named.filter(|key| key.fits(algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(Refused::UnknownKey),
            (None, _) => Err(Refused::Algorithm),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        if jwk.used_for.is_some_and(|used_for| used_for != "sig") {
            return None;
        }
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let public = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Public::Rsa { n: without_zeros(&bytes(jwk.n)?), e: without_zeros(&bytes(jwk.e)?) },
            ("EC", Some("P-256")) => Public::P256(point(bytes(jwk.x)?, bytes(jwk.y)?, 32)?),
            ("EC", Some("P-384")) => Public::P384(point(bytes(jwk.x)?, bytes(jwk.y)?, 48)?),
            ("OKP", Some("Ed25519")) => Public::Ed25519(bytes(jwk.x)?),
            _ => return None,
        };
        let algorithm = match jwk.alg {
            Some(name) => Some(Algorithm::named(&name)?),
            None => None,
        };
        Some(Self { id: jwk.kid, algorithm, public })
    }

    /// Whether the key can check signatures of this algorithm. The algorithm of a token never decides how a key is read.
    fn fits(&self, algorithm: Algorithm) -> bool {
        let kind = match self.public {
            Public::Rsa { .. } => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
            Public::P256(_) => algorithm == Algorithm::Es256,
            Public::P384(_) => algorithm == Algorithm::Es384,
            Public::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        kind && self.algorithm.is_none_or(|only| only == algorithm)
    }

    pub(super) fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> Result<(), Refused> {
        let with = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(signed, signature)
        };
        let verified = match &self.public {
            Public::Rsa { n, e } => {
                let parameters = match algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            Public::P256(key) => with(&signature::ECDSA_P256_SHA256_FIXED, key),
            Public::P384(key) => with(&signature::ECDSA_P384_SHA384_FIXED, key),
            Public::Ed25519(key) => with(&signature::ED25519, key),
        };
        verified.map_err(|_| Refused::Signature)
    }
}

/// Encodes a point of an elliptic curve in uncompressed form. Each coordinate must have `length` bytes.
fn point(x: Vec<u8>, y: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    (x.len() == length && y.len() == length).then(|| [vec![4], x, y].concat())
}

/// Returns a number without the zeros that some issuers write before it.
fn without_zeros(number: &[u8]) -> Vec<u8> {
    number.iter().copied().skip_while(|byte| *byte == 0).collect()
}
