//! DSSE envelopes: a statement and its type, signed with ed25519 keys.
//!
//! Each signature contains its `keyid`, which is the OpenSSH fingerprint, and the `publicKey` as an OpenSSH line,
//! so that anybody can check an envelope. The key identifies the signer; other modules decide whether the signer is
//! trusted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::identity::{self, Identity};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::Result;

pub const STATEMENT: &str = "application/vnd.in-toto+json";

const MAX_SIGNATURES: usize = 16;

/// The JSON format of an envelope.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    payload_type: String,
    payload: String,
    signatures: Vec<Signed>,
}

/// The JSON format of a signature.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Signed {
    keyid: String,
    sig: String,
    public_key: String,
}

/// A parsed envelope.
#[derive(Debug)]
pub struct Envelope {
    /// The bytes of the statement.
    pub payload: Vec<u8>,
    /// The signer of each signature in order, or why the signature is invalid.
    pub signers: Vec<Result<Identity, String>>,
}

/// Returns the bytes that are signed: `DSSEv1 LEN TYPE LEN BODY`, with lengths in bytes.
pub fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Signs a statement and returns the envelope as JSON.
pub fn sign(statement: &[u8], key: &SigningKey) -> Result<String> {
    let signature = key.sign(&pre_authentication(STATEMENT, statement));
    let written = Written {
        payload_type: STATEMENT.to_owned(),
        payload: STANDARD.encode(statement),
        signatures: vec![Signed {
            keyid: Identity::of(&key.verifying_key()).fingerprint().to_owned(),
            sig: STANDARD.encode(signature.to_bytes()),
            public_key: identity::line_of(&key.verifying_key())?,
        }],
    };
    Ok(serde_json::json!(written).to_string())
}

/// Parses an envelope and checks its signatures. The error text can be shown to people.
pub fn read(text: &str) -> Result<Envelope, String> {
    let written: Written =
        serde_json::from_str(text).map_err(|error| format!("the attestation is not a DSSE envelope: {error}"))?;
    if written.payload_type != STATEMENT {
        return Err(format!("the payload has the unsupported type '{}'", written.payload_type.escape_debug()));
    }
    if written.signatures.is_empty() {
        return Err("the envelope has no signature".to_owned());
    }
    if written.signatures.len() > MAX_SIGNATURES {
        return Err(format!("the envelope has more than {MAX_SIGNATURES} signatures"));
    }
    let payload = STANDARD.decode(&written.payload).map_err(|_| "the payload is not valid base64".to_owned())?;
    let signed = pre_authentication(&written.payload_type, &payload);
    let signers = written.signatures.iter().map(|signature| signer(signature, &signed)).collect();
    Ok(Envelope { payload, signers })
}

/// Parsed keys by their lines. Parsing a key takes an eighth of the time of checking a signature, and one author signs
/// many tools.
static KEYS: Cache<String, (VerifyingKey, Identity)> = Cache::new(256);

/// Parses a public key line and returns the key with its identity.
fn key_in(line: &str) -> Result<(VerifyingKey, Identity), String> {
    if let Some(known) = KEYS.get(line) {
        return Ok(known);
    }
    let key = identity::public_key(line).map_err(|error| format!("the public key cannot be used: {error}"))?;
    // Accept only the canonical line of a key, without a comment: otherwise this unsigned part of the envelope
    // could vary.
    if identity::line_of(&key).ok().as_deref() != Some(line) {
        return Err("the public key is not in OpenSSH format".to_owned());
    }
    let known = (key, Identity::of(&key));
    KEYS.put(line.to_owned(), known.clone());
    Ok(known)
}

/// Returns the signer of a signature over `signed`, or why the signature is invalid.
fn signer(signature: &Signed, signed: &[u8]) -> Result<Identity, String> {
    let (key, identity) = key_in(&signature.public_key)?;
    if signature.keyid != identity.fingerprint() {
        return Err("the keyid is not the fingerprint of the public key".to_owned());
    }
    let bytes = STANDARD.decode(&signature.sig).map_err(|_| "the signature is not valid base64".to_owned())?;
    let bytes = Signature::from_slice(&bytes).map_err(|_| "the signature is not an ed25519 signature".to_owned())?;
    // Strict checking also refuses malleable signatures and those that other implementations refuse.
    key.verify_strict(signed, &bytes).map_err(|_| "the signature does not verify".to_owned())?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    #[test]
    fn the_signed_bytes_are_those_of_the_specification() {
        let bytes = pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(bytes, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn an_envelope_says_who_signed() {
        let text = sign(b"{}", &key()).expect("signed");
        let envelope = read(&text).expect("an envelope");
        assert_eq!(envelope.payload, b"{}");
        assert_eq!(envelope.signers, [Ok(Identity::of(&key().verifying_key()))]);
    }

    #[test]
    fn each_signature_stands_for_itself() {
        let [mut one, other] = [key(), SigningKey::from_bytes(&[8; 32])]
            .map(|key| -> Written { serde_json::from_str(&sign(b"{}", &key).expect("signed")).expect("an envelope") });
        one.signatures.extend(other.signatures);
        one.signatures[0].sig = one.signatures[1].sig.clone();
        let envelope = read(&serde_json::json!(one).to_string()).expect("an envelope");
        assert_eq!(envelope.signers[0], Err("the signature does not verify".to_owned()));
        assert!(envelope.signers[1].is_ok());
        one.signatures.clear();
        assert_eq!(read(&serde_json::json!(one).to_string()).expect_err("none"), "the envelope has no signature");
    }

    /// With any one bit flipped, the envelope is malformed or its signature invalid.
    #[test]
    fn one_flipped_bit_never_verifies() {
        let text = sign(br#"{"a":1}"#, &key()).expect("signed").into_bytes();
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let verified = std::str::from_utf8(&flipped)
                .ok()
                .and_then(|text| read(text).ok())
                .is_some_and(|envelope| envelope.signers.iter().any(Result::is_ok));
            assert!(!verified, "bit {bit}: {}", String::from_utf8_lossy(&flipped));
        }
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_never_panic_and_never_verify(text in "\\PC{0,300}", payload in ".{0,40}", sig in any::<[u8; 64]>()) {
            prop_assert!(read(&text).is_err());
            let mut written: Written = serde_json::from_str(&sign(payload.as_bytes(), &key()).unwrap()).unwrap();
            written.signatures[0].sig = STANDARD.encode(sig);
            let envelope = read(&serde_json::json!(written).to_string()).unwrap();
            prop_assert!(envelope.signers[0].is_err());
        }
    }
}
