//! Statements signed with `ssh-keygen -Y sign -n mcpkg-tool`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signature;
use serde::{Deserialize, Serialize};
use ssh_key::{Algorithm, LineEnding, SshSig};

use super::dsse::STATEMENT;
use super::identity::{self, Identity};

/// The namespace of the signatures, which is the option `-n` of `ssh-keygen`.
pub const NAMESPACE: &str = "mcpkg-tool";

/// The version of OpenSSH's signature format.
const VERSION: u32 = 1;

/// The media type of a stored statement with a signature by `ssh-keygen`.
pub const MEDIA_TYPE: &str = "application/vnd.mcpkg.ssh-signature+json";

/// The JSON format of a statement and its signature.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    media_type: String,
    payload_type: String,
    payload: String,
    signature: String,
}

/// A parsed statement and signature.
#[derive(Debug)]
pub struct Signed {
    /// The bytes of the statement.
    pub payload: Vec<u8>,
    /// The signer, or why the signature is invalid.
    pub signer: Result<Identity, String>,
}

/// Combines a statement and its signature into one text. The signature is checked when the text is read.
pub fn bundle(statement: &[u8], signature: &str) -> String {
    serde_json::json!(Written {
        media_type: MEDIA_TYPE.to_owned(),
        payload_type: STATEMENT.to_owned(),
        payload: STANDARD.encode(statement),
        signature: signature.to_owned(),
    })
    .to_string()
}

/// Parses a statement and checks its signature. The error text can be shown to people.
pub fn read(text: &str) -> Result<Signed, String> {
    let written: Written =
        serde_json::from_str(text).map_err(|error| format!("the attestation is not a signed statement: {error}"))?;
    if written.media_type != MEDIA_TYPE || written.payload_type != STATEMENT {
        return Err(format!("the payload has the unsupported type '{}'", written.payload_type.escape_debug()));
    }
    let payload = STANDARD.decode(&written.payload).map_err(|_| "the payload is not valid base64".to_owned())?;
    let signer = signer(&written.signature, &payload);
    Ok(Signed { payload, signer })
}

/// Returns the signer of a signature over `payload`, or why the signature is invalid.
fn signer(pem: &str, payload: &[u8]) -> Result<Identity, String> {
    let signature =
        SshSig::from_pem(pem).map_err(|error| format!("the signature was not made by ssh-keygen: {error}"))?;
    // Neither the version nor the text encoding is signed, so only one form of each signature is accepted.
    if signature.version() != VERSION {
        return Err(format!("the signature has the unsupported version {}", signature.version()));
    }
    if signature.to_pem(LineEnding::LF).ok().as_deref().map(str::trim_end) != Some(pem.trim_end_matches('\n')) {
        return Err("the signature is not in ssh-keygen's format".to_owned());
    }
    if signature.namespace() != NAMESPACE {
        let namespace = signature.namespace().escape_debug().to_string();
        return Err(format!("the signature is for '{namespace}', not for '{NAMESPACE}'"));
    }
    if !signature.reserved().is_empty() {
        return Err("the signature has unknown fields".to_owned());
    }
    if signature.algorithm() != Algorithm::Ed25519 {
        return Err(format!("the signature has the unsupported algorithm {}", signature.algorithm()));
    }
    let key = identity::verifying_key(signature.public_key())
        .map_err(|error| format!("the public key cannot be used: {error}"))?;
    let signed = SshSig::signed_data(NAMESPACE, signature.hash_alg(), payload)
        .map_err(|error| format!("the signature was not made by ssh-keygen: {error}"))?;
    let bytes = Signature::from_slice(signature.signature_bytes())
        .map_err(|_| "the signature is not an ed25519 signature".to_owned())?;
    key.verify_strict(&signed, &bytes).map_err(|_| "the signature does not verify".to_owned())?;
    Ok(Identity::of(&key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ssh_key::private::Ed25519Keypair;
    use ssh_key::{HashAlg, PrivateKey};

    use super::*;

    fn signature(namespace: &str, statement: &[u8]) -> String {
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32]));
        key.sign(namespace, HashAlg::Sha512, statement).expect("signed").to_pem(LineEnding::LF).expect("a text")
    }

    fn is_good(text: &str) -> bool {
        read(text).is_ok_and(|signed| signed.signer.is_ok())
    }

    #[test]
    fn one_key_has_one_identity_in_either_form() {
        let signed = read(&bundle(b"{}\n", &signature(NAMESPACE, b"{}\n"))).expect("read");
        let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        assert_eq!(signed.signer, Ok(Identity::of(&key.verifying_key())));
        assert_eq!(signed.payload, b"{}\n");
    }

    #[test]
    fn a_signature_for_another_purpose_or_text_is_invalid() {
        for (namespace, statement, why) in [
            ("git", &b"{}"[..], "the signature is for 'git', not for 'mcpkg-tool'"),
            (NAMESPACE, b"{} ", "the signature does not verify"),
        ] {
            let signed = read(&bundle(b"{}", &signature(namespace, statement))).expect("read");
            assert_eq!(signed.signer, Err(why.to_owned()));
        }
    }

    #[test]
    fn one_flipped_bit_never_verifies() {
        let text = bundle(b"{}", &signature(NAMESPACE, b"{}")).into_bytes();
        assert!(is_good(std::str::from_utf8(&text).expect("a text")));
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let verified = std::str::from_utf8(&flipped).is_ok_and(is_good);
            assert!(!verified, "bit {bit}: {}", String::from_utf8_lossy(&flipped));
        }
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_never_panic_and_never_verify(text in "\\PC{0,300}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(!is_good(&text));
            let bundled = bundle(b"a", &text);
            prop_assert!(!is_good(&bundled));
            let lines: Vec<String> = STANDARD.encode(bytes).as_bytes().chunks(70).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            let pem = format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", lines.join("\n"));
            let bundled = bundle(b"a", &pem);
            prop_assert!(!is_good(&bundled));
        }
    }
}
