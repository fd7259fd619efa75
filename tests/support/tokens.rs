//! Signs JSON Web Tokens, as an authorization server does.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

/// A private key, and the id under which the authorization server publishes its public key.
pub struct Signer {
    pub id: &'static str,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    /// Returns a key for RS256. It is always the same key, because making one takes long.
    pub fn rsa(id: &'static str) -> Self {
        let key = include_bytes!("../fixtures/rsa.pk8");
        Self { id, pair: Pair::Rsa(RsaKeyPair::from_pkcs8(key).expect("a key")) }
    }

    /// Makes a key for ES256.
    pub fn p256(id: &'static str) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).expect("a key");
        Self { id, pair: Pair::P256(pair) }
    }

    /// Makes a key for EdDSA.
    pub fn ed25519(id: &'static str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self { id, pair: Pair::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key")) }
    }

    /// Returns the public key as an entry of a JSON Web Key Set.
    pub fn public(&self) -> Value {
        match &self.pair {
            Pair::Rsa(pair) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({ "kty": "RSA", "kid": self.id, "use": "sig", "n": encode(n), "e": encode(e) })
            }
            Pair::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": self.id, "x": encode(x), "y": encode(y) })
            }
            Pair::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": encode(pair.public_key()) })
            }
        }
    }

    /// Returns a token with the usual header.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&json!({}), claims)
    }

    /// Returns a token whose header has these fields, in addition to the usual ones or instead of them.
    pub fn token_with(&self, more: &Value, claims: &Value) -> String {
        let algorithm = match &self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::P256(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
        };
        let mut header = json!({ "alg": algorithm, "kid": self.id, "typ": "at+jwt" });
        header.as_object_mut().expect("a header").extend(more.as_object().expect("fields").clone());
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.sign(signed.as_bytes());
        format!("{signed}.{}", encode(signature))
    }

    fn sign(&self, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let padding: &dyn signature::RsaEncoding = &RSA_PKCS1_SHA256;
                pair.sign(padding, &random, signed, &mut signature).expect("a signature");
                signature
            }
            Pair::P256(pair) => pair.sign(&random, signed).expect("a signature").as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(signed).as_ref().to_vec(),
        }
    }
}
