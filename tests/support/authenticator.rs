//! A software authenticator: answers challenges like a passkey, also wrongly.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpkg_base::sha256;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

pub struct Authenticator {
    key: EcdsaKeyPair,
    credential: Vec<u8>,
    /// The counter after the last answer.
    pub count: u32,
}

/// What an authenticator is asked, and how it answers. Tests change one field to get a wrong answer.
#[derive(Clone)]
pub struct Asked {
    pub challenge: String,
    pub host: String,
    pub origin: String,
    /// User present, user verified.
    pub flags: u8,
    pub kind: &'static str,
    /// More fields of the client data.
    pub more: Value,
    /// The bytes before the coordinates of the new key in COSE.
    pub cose: [u8; 10],
    /// Bytes after the authenticator data.
    pub after: Vec<u8>,
}

impl Asked {
    /// Returns what a browser on a page of `origin` asks.
    pub fn new(origin: &str, challenge: &str) -> Self {
        let host = origin.rsplit("://").next().unwrap_or_default().split(':').next().unwrap_or_default();
        Self {
            challenge: challenge.to_owned(),
            host: host.to_owned(),
            origin: origin.to_owned(),
            flags: 0x05,
            kind: "webauthn.get",
            more: json!({ "crossOrigin": false }),
            cose: [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20],
            after: Vec::new(),
        }
    }

    fn client(&self) -> Vec<u8> {
        let mut client = json!({ "type": self.kind, "challenge": self.challenge, "origin": self.origin });
        client.as_object_mut().expect("an object").extend(self.more.as_object().expect("an object").clone());
        client.to_string().into_bytes()
    }

    fn data(&self, flags: u8, count: u32) -> Vec<u8> {
        [&sha256::of(&self.host)[..], &[self.flags | flags], &count.to_be_bytes()].concat()
    }
}

/// The form fields, filled in as the console's script does.
pub type Answer = Vec<(&'static str, String)>;

impl Authenticator {
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random).expect("a key");
        let credential = sha256::of(key.public_key().as_ref()).to_vec();
        Self { key, credential, count: 0 }
    }

    /// Makes a passkey.
    pub fn create(&self, asked: &Asked) -> Answer {
        let asked =
            Asked { kind: if asked.kind == "webauthn.get" { "webauthn.create" } else { asked.kind }, ..asked.clone() };
        let point = self.key.public_key().as_ref();
        let length = u16::try_from(self.credential.len()).expect("a short id").to_be_bytes();
        let (x, y) = point[1..].split_at(32);
        let key = [&asked.cose[..], x, &[0x22, 0x58, 0x20], y].concat();
        let data = [
            asked.data(0x40, self.count),
            vec![0; 16],
            length.to_vec(),
            self.credential.clone(),
            key,
            asked.after.clone(),
        ];
        vec![("client", URL_SAFE_NO_PAD.encode(asked.client())), ("data", URL_SAFE_NO_PAD.encode(data.concat()))]
    }

    /// Increases the counter, and signs a challenge.
    pub fn sign(&mut self, asked: &Asked) -> Answer {
        self.count += 1;
        self.sign_again(asked)
    }

    /// Signs a challenge with the same counter as before.
    pub fn sign_again(&self, asked: &Asked) -> Answer {
        let (client, data) = (asked.client(), [asked.data(0, self.count), asked.after.clone()].concat());
        let message = [&data[..], &sha256::of(&client)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &message).expect("a signature");
        vec![
            ("credential", URL_SAFE_NO_PAD.encode(&self.credential)),
            ("client", URL_SAFE_NO_PAD.encode(client)),
            ("data", URL_SAFE_NO_PAD.encode(data)),
            ("signature", URL_SAFE_NO_PAD.encode(signature.as_ref())),
        ]
    }
}
